//! The book against a naive model.
