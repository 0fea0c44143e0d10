//! Linked lists that run through the order table.
//!
//! An order belongs to up to three lists at once, its level's, its agent's and that of the step at
//! which it is gone; a list is named by the
//! function that finds an order's [`Links`] in it.

use serde::{Deserialize, Serialize};

use super::BookOrder;
use crate::ids::OrderId;
use crate::window::Window;

/// All orders of a book by id.
pub(crate) type Orders = Window<BookOrder>;

/// Stands for "no order": no book ever holds this many.
pub(crate) const NONE: u64 = u64::MAX;

/// An order's neighbours in one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Links {
    previous: u64,
    pub(super) next: u64,
}

impl Default for Links {
    fn default() -> Self {
        Self { previous: NONE, next: NONE }
    }
}

/// The ends of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) head: u64,
    tail: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Chain {
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Adds an order at the end.
    pub(crate) fn append(
        &mut self,
        orders: &mut Orders,
        id: OrderId,
        links: impl Fn(&mut BookOrder) -> &mut Links,
    ) {
        *links(&mut orders[id.0]) = Links { previous: self.tail, next: NONE };
        if self.tail == NONE {
            self.head = id.0;
        } else {
            links(&mut orders[self.tail]).next = id.0;
        }
        self.tail = id.0;
    }

    /// Takes an order out, wherever it stands.
    pub(crate) fn remove(
        &mut self,
        orders: &mut Orders,
        id: OrderId,
        links: impl Fn(&mut BookOrder) -> &mut Links,
    ) {
        let Links { previous, next } = std::mem::take(links(&mut orders[id.0]));
        if previous == NONE {
            self.head = next;
        } else {
            links(&mut orders[previous]).next = next;
        }
        if next == NONE {
            self.tail = previous;
        } else {
            links(&mut orders[next]).previous = previous;
        }
    }
}

/// The ids of a list from `first` on.
pub(crate) fn walk<'a>(
    orders: &'a Orders,
    first: u64,
    links: impl Fn(&BookOrder) -> &Links + 'a,
) -> impl Iterator<Item = OrderId> + 'a {
    let mut next = first;
    std::iter::from_fn(move || {
        let id = next;
        (id != NONE).then(|| {
            next = links(&orders[id]).next;
            OrderId(id)
        })
    })
}
