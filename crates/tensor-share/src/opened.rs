//! An arena that this process has open.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::Tensor;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, pread};

use crate::cache;
use crate::element::{Element, known, with_element};
use crate::error::{Cause, Error, Result};
use crate::gate::Gate;
use crate::header::{Directory, Kind, PREFIX};
use crate::id::ArenaId;
use crate::os::named::Hold;
use crate::os::pages::{MutablePages, SealedPages};
use crate::os::{limits, memfd};
use crate::place::Place;
use crate::zero_copy::{self, MappedTensor, WhyCopied, ZeroCopy};

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) place: Place,
    pub(crate) directory: Directory,
    content: Content,
    descriptor: Option<Kept>,
    _hold: Option<Hold>,
}

#[derive(Debug)]
enum Content {
    /// Tensors on the pages themselves.
    Mapped(Vec<MappedTensor>),
    /// Tensors that are copied when they are first asked for.
    Copied {
        why: WhyCopied,
        pages: SealedPages,
        tensors: Box<[OnceLock<Tensor>]>,
    },
    Mutable {
        pages: MutablePages,
        gate: Gate,
    },
}

/// A descriptor that is kept to be sent on, and counted.
#[derive(Debug)]
struct Kept(OwnedFd);

static N_KEPT: AtomicUsize = AtomicUsize::new(0);

impl Kept {
    fn new(file: OwnedFd) -> Self {
        N_KEPT.fetch_add(1, Ordering::Relaxed);
        Self(file)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        N_KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a process keeps the descriptors of arenas that it was sent: as long as they take no more
/// than a quarter of what it may have. Beyond, it reads them but cannot send them on.
fn may_keep() -> bool {
    (N_KEPT.load(Ordering::Relaxed) as u64) < limits::descriptor_limit() / 4
}

impl Opened {
    /// An arena of this process alone.
    pub(crate) fn in_process(directory: Directory, pages: SealedPages) -> Self {
        let content = Content::copied(WhyCopied::InProcess, pages, &directory);
        Self { place: Place::InProcess, directory, content, descriptor: None, _hold: None }
    }

    /// A mutable arena of this process alone.
    pub(crate) fn mutable_in_process(directory: Directory, pages: MutablePages) -> Self {
        let content = Content::Mutable { pages, gate: Gate::new(None) };
        Self { place: Place::InProcess, directory, content, descriptor: None, _hold: None }
    }

    /// An arena that this process just made in a memory file.
    pub(crate) fn made(file: OwnedFd, id: ArenaId) -> Result<Self> {
        let (directory, content) = read(&file, id, Place::FileDescriptor, None)?;
        let descriptor = Some(Kept::new(file));
        Ok(Self { place: Place::FileDescriptor, directory, content, descriptor, _hold: None })
    }

    /// An arena whose descriptor was sent to this process.
    pub(crate) fn received(file: OwnedFd, id: ArenaId) -> Result<Self> {
        let (directory, content) = read(&file, id, Place::FileDescriptor, None)?;
        let descriptor = may_keep().then(|| Kept::new(file));
        Ok(Self { place: Place::FileDescriptor, directory, content, descriptor, _hold: None })
    }

    /// A named arena.
    pub(crate) fn named(
        file: OwnedFd,
        id: ArenaId,
        kind: Kind,
        hold: Option<Hold>,
    ) -> Result<Self> {
        let (directory, content) = read(&file, id, Place::FileSystem, Some(kind))?;
        Ok(Self { place: Place::FileSystem, directory, content, descriptor: None, _hold: hold })
    }

    pub(crate) fn id(&self) -> ArenaId {
        self.directory.id
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_ref().map(|kept| kept.0.as_fd())
    }

    pub(crate) fn zero_copy(&self) -> ZeroCopy {
        match &self.content {
            Content::Copied { why, .. } => ZeroCopy::Copied(*why),
            Content::Mapped(_) | Content::Mutable { .. } => ZeroCopy::Shared,
        }
    }

    /// Sees that the arena is of the kind that a handle says.
    pub(crate) fn expect(&self, kind: Kind) -> Result<()> {
        if self.directory.kind == kind { Ok(()) } else { Err(self.is_not(kind)) }
    }

    fn is_not(&self, kind: Kind) -> Error {
        Cause::Kind { id: self.id(), is: self.directory.kind.text(), wants: kind.text() }.into()
    }

    /// The tensor with this index.
    ///
    /// Of a mutable arena it would be a copy that nobody asked for, so that is an error.
    pub(crate) fn tensor(&self, index: usize) -> Result<Tensor> {
        match &self.content {
            Content::Mapped(tensors) => {
                Ok(tensors[index].tensor(&self.directory.entries[index].dims))
            }
            Content::Copied { pages, tensors, .. } => {
                let entry = &self.directory.entries[index];
                if let Some(tensor) = tensors[index].get() {
                    return Ok(tensor.clone());
                }
                let copy = with_element!(entry.dtype, T => {
                    let elements = pages.slice::<T>(entry.offset, entry.n_elements()).to_vec();
                    to_tensor(elements, &entry.dims)
                });
                let copy = known(copy)?;
                // If another thread was faster, its copy is used by everybody.
                Ok(tensors[index].get_or_init(|| copy).clone())
            }
            Content::Mutable { .. } => Err(self.is_not(Kind::Sealed)),
        }
    }

    /// The pages and the gate of a mutable arena.
    pub(crate) fn mutable(&self) -> Result<(&MutablePages, &Gate)> {
        match &self.content {
            Content::Mutable { pages, gate } => Ok((pages, gate)),
            _ => Err(self.is_not(Kind::Mutable)),
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        cache::forget(self.id());
    }
}

impl Content {
    fn copied(why: WhyCopied, pages: SealedPages, directory: &Directory) -> Self {
        let tensors = directory.entries.iter().map(|_| OnceLock::new()).collect();
        Self::Copied { why, pages, tensors }
    }
}

pub(crate) fn to_tensor<T: Element>(elements: Vec<T>, dims: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(elements, dims, &candle_core::Device::Cpu)
        .map_err(|source| Cause::Candle { doing: "making a tensor", source }.into())
}

/// Checks a segment and takes it in.
fn read(
    file: &OwnedFd,
    id: ArenaId,
    place: Place,
    wanted: Option<Kind>,
) -> Result<(Directory, Content)> {
    let what = || match place {
        Place::FileSystem => crate::os::dir::Name::Arena(id).path().display().to_string(),
        Place::FileDescriptor | Place::InProcess => format!("the descriptor sent as {id}"),
    };
    let format = |problem| Error::from(Cause::Format { what: what(), problem });
    let length = memfd::length(file)?;
    if length < PREFIX as u64 {
        return Err(format(format!("{length} bytes, expected {PREFIX} at least")));
    }
    let prefix = read_exactly(file, PREFIX)?;
    let directory_len = Directory::directory_len(&prefix, length).map_err(format)?;
    let kind = if prefix[12] == 1 { Kind::Mutable } else { Kind::Sealed };
    if let Some(wanted) = wanted.filter(|&wanted| wanted != kind) {
        return Err(Cause::Kind { id, is: kind.text(), wants: wanted.text() }.into());
    }
    if place == Place::FileDescriptor {
        memfd::check_seals(file, id, kind)?;
    }
    // Read again as a whole: the prefix above may have been read before the seals were set.
    let bytes = read_exactly(file, PREFIX + directory_len)?;
    let directory = Directory::parse(&bytes, length).map_err(format)?;
    if directory.id != id {
        return Err(Cause::OtherArena { found: directory.id, expected: id }.into());
    }
    if directory.kind != kind {
        return Err(format("its kind changed while it was read".to_owned()));
    }
    let content = match kind {
        Kind::Sealed => match zero_copy::map(file, &directory)? {
            Ok(tensors) => Content::Mapped(tensors),
            Err(why) => {
                let pages = SealedPages::map(file, directory.file_len, &what())?;
                Content::copied(why, pages, &directory)
            }
        },
        Kind::Mutable => {
            let pages = MutablePages::map(file, directory.file_len, &what())?;
            Content::Mutable { pages, gate: Gate::new(Some(memfd::reopen(file)?)) }
        }
    };
    Ok((directory, content))
}

fn read_exactly(file: &OwnedFd, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match pread(file, &mut bytes[filled..], filled as u64) {
            Ok(0) => {
                let error = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(Error::system(
                    format!("read {length} bytes of an arena, got {filled}"),
                    error,
                ));
            }
            Ok(n) => filled += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("read an arena", error)),
        }
    }
    Ok(bytes)
}
