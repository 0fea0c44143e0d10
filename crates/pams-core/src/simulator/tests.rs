//! What happens in which order, what is refused, and what the events do.

mod halts;
mod limits;
mod refusals;
mod replicas;
mod sequence;
mod shocks;
