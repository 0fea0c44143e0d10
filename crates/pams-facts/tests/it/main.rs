//! Tests of `pams-facts` through its public interface.
#![expect(clippy::float_cmp, reason = "values that have to be exact")]

mod closed_form;
mod pictures;
mod prices;
mod reference;
mod series;
