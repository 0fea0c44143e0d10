//! How a sleeper and its waker agree, over one word that both share.
//!
//! The sleeper sets the word, then looks once more at what it waits for. The waker changes what
//! the other waits for, then looks at the word. Between the two steps stands a sequentially
//! consistent fence on both sides, so that at least one sees what the other did: either the
//! sleeper does not sleep, or the waker knows that it must wake.
//!
//! `tests/model.rs` checks this file, as it stands, in all interleavings.

use std::sync::atomic::Ordering;

/// Nobody sleeps.
pub(crate) const AWAKE: u32 = 0;
/// The one that always reads here sleeps, and is woken in its own way.
pub(crate) const SLEEPS: u32 = 1;
/// A caller sleeps on the word itself.
pub(crate) const LISTENS: u32 = 2;

/// The operations that are needed of an atomic word.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    fn swap(&self, value: u32, order: Ordering) -> u32;
    fn replace(&self, from: u32, to: u32) -> bool;
    fn fence();
}

/// Announces sleep; `false`, and the announcement taken back, when there is something after all.
pub(crate) fn announce<W: Word>(word: &W, how: u32, nothing: impl FnOnce() -> bool) -> bool {
    word.store(how, Ordering::SeqCst);
    W::fence();
    if nothing() {
        return true;
    }
    word.store(AWAKE, Ordering::SeqCst);
    false
}

/// Takes an announcement, after a change that somebody may sleep for; whoever gets one wakes.
pub(crate) fn take<W: Word>(word: &W) -> u32 {
    W::fence();
    match word.load(Ordering::Relaxed) {
        AWAKE => AWAKE,
        _ => word.swap(AWAKE, Ordering::SeqCst),
    }
}

/// Ends a listener's turn: from now on the usual reader is woken.
///
/// Any change since the listener came would have taken its announcement; so when it is still
/// there, nothing is unread, and the usual reader may be said to sleep.
pub(crate) fn dismiss<W: Word>(word: &W) {
    word.replace(LISTENS, SLEEPS);
}
