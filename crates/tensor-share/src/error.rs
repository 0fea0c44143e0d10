use std::io;
use std::path::PathBuf;

use candle_core::DType;

use crate::id::ArenaId;

/// What went wrong while tensors were shared.
///
/// One opaque type for the crate: [`kind`](Self::kind) is what callers branch on, the text is what
/// people read. A text names the operation and both values that do not fit (asked and free bytes,
/// the shape in the arena and the shape of the tensor), and what to do where the crate knows it.
/// What the system said is part of the text; an error of candle, which may be long, is the
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Cause>);

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The memory that was asked for is not there.
    NoSpace,
    /// The process may not have more descriptors or mappings.
    Limit,
    /// A tensor is not in the memory of the CPU.
    NotOnCpu,
    /// candle has no elements for this dtype, or an operation does not take it.
    DType,
    /// Shapes or dtypes that should be the same are not, or a name is missing or twice there.
    Mismatch,
    /// The arena of a handle cannot be found from this process.
    UnknownArena,
    /// A segment or handle is foreign, damaged, or of another version.
    Format,
    /// A segment that another user could change, or that is not sealed.
    Untrusted,
    /// A strategy with this name does not exist.
    Strategy,
    /// A file with tensors cannot be read.
    File,
    /// An operation of candle failed.
    Candle,
    /// The system refused an operation.
    System,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(
        "no room for {what} in {place}, asked {asked} bytes, free {free} bytes; make {place} larger or share fewer tensors"
    )]
    NoSpace { what: String, place: &'static str, asked: u64, free: u64 },
    #[error("no memory for {what}, asked {asked} bytes, the machine has {free} bytes available")]
    NoMemory { what: String, asked: u64, free: u64 },
    #[error(
        "no descriptor left for {doing}, the limit of this process is {limit} (ulimit -n); put many tensors into one arena, or use the strategy file_system, which holds no descriptor for an arena"
    )]
    Descriptors { doing: String, limit: u64 },
    #[error(
        "no mapping left for {doing}, this process has {mappings} and vm.max_map_count is {limit}; put many tensors into one arena"
    )]
    Mappings { doing: String, mappings: u64, limit: u64 },
    #[error(
        "tensor {name} is on {device}, and only tensors in CPU memory can be shared; load the model in the worker initializer instead, see https://docs.rs/tensor-share/latest/tensor_share/#tensors-on-a-gpu"
    )]
    NotOnCpu { name: String, device: String },
    #[error("dtype {} of {name} cannot be shared, {why}", dtype.as_str())]
    DType { name: String, dtype: DType, why: &'static str },
    #[error("{what} mismatch in {operation} of {name}, arena {arena}, {other_name} {other}")]
    Mismatch {
        what: &'static str,
        operation: &'static str,
        name: String,
        arena: String,
        other_name: &'static str,
        other: String,
    },
    #[error("the arena has no tensor {name}, it has {n_tensors}: {some}")]
    NoTensor { name: String, n_tensors: usize, some: String },
    #[error("the name {name} is used twice in one arena")]
    Twice { name: String },
    #[error("a name of {length} bytes is longer than the {most} bytes that an arena keeps")]
    LongName { length: usize, most: usize },
    #[error(
        "{n_missing} of {n_tensors} tensors were not written before the arena was sealed: {some}"
    )]
    Unwritten { n_missing: usize, n_tensors: usize, some: String },
    #[error(
        "arena {id} is not known to this process: its descriptor has not been attached, or the handle comes from another program"
    )]
    NotAttached { id: ArenaId },
    #[error(
        "arena {id} is not there: {path} does not exist, because its last holder has ended or the handle comes from another machine"
    )]
    NotNamed { id: ArenaId, path: PathBuf },
    #[error(
        "arena {id} lives in the process that made it, and this is another one or it is closed"
    )]
    NotHere { id: ArenaId },
    #[error(
        "a handle of version {found} was met, this program reads version {expected}; both sides must be built with the same tensor-share"
    )]
    HandleVersion { found: u8, expected: u8 },
    #[error("{what} is not an arena of this version: {problem}")]
    Format { what: String, problem: String },
    #[error("arena {id} is {is}, the handle wants {wants}")]
    Kind { id: ArenaId, is: &'static str, wants: &'static str },
    #[error("the descriptor holds arena {found}, it was sent as {expected}")]
    OtherArena { found: ArenaId, expected: ArenaId },
    #[error(
        "{what} belongs to user {owner} with mode {mode:04o}, expected user {user} and {wanted:04o}"
    )]
    Owner { what: String, owner: u32, user: u32, mode: u32, wanted: u32 },
    #[error("{name} is a variable of arena {found}, the step is one of arena {expected}")]
    OtherStep { name: String, found: ArenaId, expected: ArenaId },
    #[error("the memory file of arena {id} has the seals {found}, expected {expected}")]
    Seals { id: ArenaId, found: String, expected: String },
    #[error("unknown sharing strategy {name:?}, expected one of file_descriptor, file_system")]
    Strategy { name: String },
    #[error("cannot load {}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("cannot load {}", path.display())]
    FileCandle { path: PathBuf, source: candle_core::Error },
    #[error("{doing} failed")]
    Candle { doing: &'static str, source: candle_core::Error },
    #[error("cannot {doing}: {error}")]
    System { doing: String, error: io::Error },
}

impl Error {
    /// What callers branch on.
    pub fn kind(&self) -> ErrorKind {
        match *self.0 {
            Cause::NoSpace { .. } | Cause::NoMemory { .. } => ErrorKind::NoSpace,
            Cause::Descriptors { .. } | Cause::Mappings { .. } => ErrorKind::Limit,
            Cause::NotOnCpu { .. } => ErrorKind::NotOnCpu,
            Cause::DType { .. } => ErrorKind::DType,
            Cause::Mismatch { .. }
            | Cause::NoTensor { .. }
            | Cause::Twice { .. }
            | Cause::LongName { .. }
            | Cause::OtherStep { .. }
            | Cause::Unwritten { .. } => ErrorKind::Mismatch,
            Cause::NotAttached { .. } | Cause::NotNamed { .. } | Cause::NotHere { .. } => {
                ErrorKind::UnknownArena
            }
            Cause::HandleVersion { .. }
            | Cause::Format { .. }
            | Cause::Kind { .. }
            | Cause::OtherArena { .. } => ErrorKind::Format,
            Cause::Owner { .. } | Cause::Seals { .. } => ErrorKind::Untrusted,
            Cause::Strategy { .. } => ErrorKind::Strategy,
            Cause::File { .. } | Cause::FileCandle { .. } => ErrorKind::File,
            Cause::Candle { .. } => ErrorKind::Candle,
            Cause::System { .. } => ErrorKind::System,
        }
    }

    pub(crate) fn system(doing: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Cause::System { doing: doing.into(), error: error.into() }.into()
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_said_once() {
        let error = Error::system("lock a lease", io::Error::from_raw_os_error(4));
        assert_eq!(error.to_string(), "cannot lock a lease: Interrupted system call (os error 4)");
        assert!(std::error::Error::source(&error).is_none());
    }
}
