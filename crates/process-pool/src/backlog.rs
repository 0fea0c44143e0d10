//! Updates that queue up for a worker which does not take them in: it is busy, stopped, or its
//! initializer still runs.
//!
//! Beyond a bound they make way for a *snapshot*, the same that a worker gets which starts late.
//! In the outbox a *gap* takes their place, and nothing behind it is sent before the owner's
//! snapshot fills it. The updates themselves are kept until then: those that the snapshot does not
//! include follow it. No update is moved behind a task that was submitted after it; tasks may see
//! updates that came later, as they may anyway. Only what is behind the last task makes way: so a
//! task waits for one snapshot at most, however fast updates come.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::frame::Head;
use crate::link::{Link, Out, Phase, Update};

impl Out {
    /// What it takes of the memory that is bounded.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Update(_, update) => update.weight(),
            _ => 0,
        }
    }
}

impl Update {
    fn weight(&self) -> usize {
        self.body.len() + Head::SIZE
    }
}

impl Link {
    /// Tells the worker an update, now or later; `true` when it needs a snapshot instead.
    pub(crate) fn tell(&mut self, epoch: u64, update: &Arc<Update>, bound: usize) -> bool {
        match self.phase {
            Phase::Dying => false,
            Phase::Starting => {
                self.hold_for_start(epoch, update, bound);
                false
            }
            Phase::Catching => {
                self.held.push((epoch, update.clone()));
                false
            }
            Phase::Ready | Phase::Retiring if self.gap => {
                self.held.push((epoch, update.clone()));
                false
            }
            Phase::Ready | Phase::Retiring => {
                if self.send(Out::Update(epoch, update.clone())).is_err() {
                    self.kill();
                    return false;
                }
                self.lags(bound)
            }
        }
    }

    /// Keeps an update for a worker that has no state yet. When it would be too many, the worker
    /// counts as one that starts now.
    fn hold_for_start(&mut self, epoch: u64, update: &Arc<Update>, bound: usize) {
        self.waiting += update.weight();
        self.held.push((epoch, update.clone()));
        if self.waiting > bound && self.held.len() > 1 {
            // This update stays: its broadcast has not returned, so the owner's state may lack it.
            self.held.drain(..self.held.len() - 1);
            self.waiting = update.weight();
            self.born_after = epoch - 1;
        }
    }

    /// Takes the updates behind the last task out of the outbox; `true` when a snapshot is to
    /// take their place.
    fn make_gap(&mut self, bound: usize) -> bool {
        let begun = usize::from(self.has_begun());
        let last_task = self.outbox.iter().rposition(|out| matches!(out, Out::Task(..)));
        let tail = self.outbox.split_off(last_task.map_or(0, |at| at + 1).max(begun));
        let many = tail.iter().filter(|out| matches!(out, Out::Update(..))).count() > 1;
        for out in tail {
            match out {
                Out::Update(epoch, update) if many => self.held.push((epoch, update)),
                // Keys that are let go stay in front: what needs them again carries them.
                other => self.outbox.push_back(other),
            }
        }
        if many {
            self.outbox.push_back(Out::Gap);
            self.gap = true;
        }
        self.weigh(bound);
        many
    }

    /// Puts the owner's snapshot where updates were taken out, and what it does not include
    /// behind it; `true` when that is so much that it needs another one.
    pub(crate) fn fill_gap(&mut self, after: u64, snapshot: Arc<Update>, bound: usize) -> bool {
        let at = self.outbox.iter().position(|out| matches!(out, Out::Gap));
        let Some(at) = at else { return false };
        let mut behind: VecDeque<Out> = self.outbox.split_off(at);
        behind.pop_front();
        let room = bound.max(snapshot.weight());
        self.outbox.push_back(Out::Update(after, snapshot));
        self.weigh(room);
        let looks_at = self.looks_at;
        let held = std::mem::take(&mut self.held).into_iter().filter(|(epoch, _)| *epoch > after);
        self.outbox.extend(held.map(|(epoch, update)| Out::Update(epoch, update)));
        self.outbox.append(&mut behind);
        self.gap = false;
        self.weigh(room);
        self.looks_at = looks_at;
        if self.flush().is_err() {
            self.kill();
            return false;
        }
        self.lags(bound)
    }

    /// Whether too much waits, so that a snapshot is to take its place.
    fn lags(&mut self, bound: usize) -> bool {
        self.waiting > self.looks_at.max(bound) && self.make_gap(bound)
    }

    /// Counts anew what waits. The next snapshot is due when as much has come again.
    fn weigh(&mut self, bound: usize) {
        self.waiting = self.outbox.iter().map(Out::weight).sum();
        self.looks_at = self.waiting.saturating_add(bound);
    }
}
