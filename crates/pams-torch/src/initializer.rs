//! What every worker does first.

use std::marker::PhantomData;
use std::str::from_utf8;

use pams_runner::WorkerInitializer;
use process_pool::BoxError;
use serde::{Deserialize, Serialize};
use tensor_share::{SharingStrategy, set_sharing_strategy};

/// Sets a worker up for tensors, then runs the user's initializer.
#[derive(Debug)]
pub struct TorchInitializer<I>(PhantomData<fn() -> I>);

/// What the initializer of a torch-style worker is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TorchArguments<A> {
    /// The sharing strategy to set; the current one stays if there is none.
    pub sharing_strategy: Option<SharingStrategy>,
    /// What the user's initializer is given.
    pub inner: A,
}

impl<I: WorkerInitializer> WorkerInitializer for TorchInitializer<I> {
    /// The user's name with a prefix, since the plain process runner may use that initializer too.
    const NAME: &'static str = match from_utf8(Self::PREFIXED.0.split_at(Self::PREFIXED.1).0) {
        Ok(name) => name,
        Err(_) => panic!("invariant: two texts in a row are a text"),
    };
    type Arguments = TorchArguments<I::Arguments>;

    fn initialize(arguments: Self::Arguments) -> Result<(), BoxError> {
        if let Some(strategy) = arguments.sharing_strategy {
            set_sharing_strategy(strategy);
        }
        I::initialize(arguments.inner)
    }
}

impl<I: WorkerInitializer> TorchInitializer<I> {
    /// The bytes of the name, and how many there are.
    const PREFIXED: &'static ([u8; 256], usize) = &{
        let mut bytes = [0; 256];
        let mut length = 0;
        let parts = [b"torch: ", I::NAME.as_bytes()];
        let mut part = 0;
        while part < parts.len() {
            let mut index = 0;
            while index < parts[part].len() {
                assert!(length < bytes.len(), "the name of an initializer is too long");
                bytes[length] = parts[part][index];
                length += 1;
                index += 1;
            }
            part += 1;
        }
        (bytes, length)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named;

    impl WorkerInitializer for Named {
        const NAME: &'static str = "loads a model";
        type Arguments = ();

        fn initialize((): ()) -> Result<(), BoxError> {
            Ok(())
        }
    }

    #[test]
    fn the_name_tells_the_wrapped_initializer_from_the_plain_one() {
        assert_eq!(TorchInitializer::<Named>::NAME, "torch: loads a model");
    }
}
