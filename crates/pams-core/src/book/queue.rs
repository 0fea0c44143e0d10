//! Linked lists that run through the orders of a book.
//!
//! An order belongs to up to three lists at once, its level's, its agent's and that of the step at
//! which it is gone; a list is named by the function that finds an order's [`Links`] in it.
//!
//! Whether an order has a neighbour nobody can foresee, so what is written has its place chosen, not a branch: either
//! the neighbour's link or the end of the list.

use serde::{Deserialize, Serialize};

use super::orders::{Orders, Row};

/// Stands for "nothing" where something is named by its place in a table.
pub(super) const NONE: u32 = u32::MAX;

/// An order's neighbours in one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Links {
    previous: u32,
    pub(super) next: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self { previous: NONE, next: NONE }
    }
}

/// The ends of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chain {
    pub(super) head: u32,
    tail: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Chain {
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Adds an order at the end.
    #[inline]
    pub(super) fn append(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        links: impl Fn(&mut Row) -> &mut Links,
    ) {
        *links(&mut orders[slot]) = Links { previous: self.tail, next: NONE };
        *orders.get_mut(self.tail).map_or(&mut self.head, |row| &mut links(row).next) = slot;
        self.tail = slot;
    }

    /// Takes an order out, wherever it stands.
    #[inline]
    pub(super) fn remove(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        links: impl Fn(&mut Row) -> &mut Links,
    ) {
        let Links { previous, next } = std::mem::take(links(&mut orders[slot]));
        *orders.get_mut(previous).map_or(&mut self.head, |row| &mut links(row).next) = next;
        *orders.get_mut(next).map_or(&mut self.tail, |row| &mut links(row).previous) = previous;
    }
}

/// The orders of a list from `first` on.
pub(super) fn walk<'a>(
    orders: &'a Orders,
    first: u32,
    links: impl Fn(&Row) -> &Links + 'a,
) -> impl Iterator<Item = &'a Row> + 'a {
    let mut next = first;
    std::iter::from_fn(move || {
        let slot = next;
        (slot != NONE).then(|| {
            let row = &orders[slot];
            next = links(row).next;
            row
        })
    })
}
