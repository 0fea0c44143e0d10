//! The wire format of requests, answers and updates: serde with bincode 2, in this module only.
//!
//! A value is encoded to bytes before anything is sent, so that one that cannot be encoded
//! leaves no half message behind; decoding must consume every byte.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What one message may hold, in bytes: 1 GiB.
pub(crate) const MESSAGE_LIMIT: usize = 1 << 30;

const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MESSAGE_LIMIT>,
> = bincode::config::standard().with_limit::<MESSAGE_LIMIT>();

/// Encodes a value, or says why it cannot be.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, String> {
    use bincode::error::EncodeError;
    let words = |error| match error {
        EncodeError::OtherString(text) => text,
        EncodeError::Other(text) => text.to_owned(),
        other => other.to_string(),
    };
    let bytes = bincode::serde::encode_to_vec(value, CONFIG).map_err(words)?;
    if bytes.len() > MESSAGE_LIMIT {
        return Err(format!("{} bytes, more than the limit of {MESSAGE_LIMIT}", bytes.len()));
    }
    Ok(bytes)
}

/// Decodes a value from all of `bytes`, or says why it cannot be.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    use bincode::error::DecodeError;
    let words = |error| match error {
        DecodeError::OtherString(text) => text,
        DecodeError::Other(text) => text.to_owned(),
        other => other.to_string(),
    };
    let (value, used) = bincode::serde::decode_from_slice(bytes, CONFIG).map_err(words)?;
    if used != bytes.len() {
        return Err(format!("{used} of {} bytes decoded, the rest is left over", bytes.len()));
    }
    Ok(value)
}

/// Decodes a message of the pool's own; `None` when it is none.
pub(crate) fn decode_message<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    let (value, used) = bincode::serde::decode_from_slice(bytes, CONFIG).ok()?;
    (used == bytes.len()).then_some(value)
}

/// Bytes that travel as one block.
///
/// serde sends a plain `Vec<u8>` element by element; this sends it at the speed of a copy.
///
/// ```
/// let bytes = process_pool::Bytes(vec![1, 2, 3]);
/// assert_eq!(bytes.0.len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Block;
        impl Visitor<'_> for Block {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Block)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, decode, encode};

    #[test]
    fn every_byte_must_be_used() {
        let mut bytes = encode(&7_u32).unwrap();
        assert_eq!(decode::<u32>(&bytes), Ok(7));
        bytes.push(0);
        assert_eq!(
            decode::<u32>(&bytes).unwrap_err(),
            "1 of 2 bytes decoded, the rest is left over"
        );
        assert!(decode::<u32>(&[]).is_err());
    }

    #[test]
    fn a_false_length_allocates_nothing() {
        assert!(decode::<Bytes>(&[253, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
    }

    #[test]
    fn bytes_come_back() {
        let bytes = Bytes((0..=255).collect());
        assert_eq!(decode::<Bytes>(&encode(&bytes).unwrap()), Ok(bytes));
    }
}
