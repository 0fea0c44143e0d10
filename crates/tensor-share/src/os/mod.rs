//! What is asked of the system: memory files, named objects, mappings, limits.

pub(crate) mod dir;
pub(crate) mod lease;
pub(crate) mod limits;
pub(crate) mod memfd;
pub(crate) mod named;
pub(crate) mod pages;
pub(crate) mod range_lock;
