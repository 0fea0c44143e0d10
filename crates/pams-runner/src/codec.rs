//! Values as bytes, for worker processes and for telling whether two values are the same.

use bincode::config::Configuration;
use bincode::error::EncodeError;
use serde::Serialize;

pub(crate) const CODEC: Configuration = bincode::config::standard();

/// The bytes of a value. Floats keep their bits.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    bincode::serde::encode_to_vec(value, CODEC)
}
