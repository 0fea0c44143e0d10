//! The same suite in a program that does not install the allocator, so that tensors are copied.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../it/conformance.rs"]
mod conformance;
#[path = "../it/util.rs"]
mod util;

use tensor_share::{WhyCopied, ZeroCopy, zero_copy};

#[test]
fn this_program_copies_and_says_why() {
    assert_eq!(zero_copy(), ZeroCopy::Copied(WhyCopied::NoAllocator));
    let tensor = util::range(16);
    let arena = tensor_share::Arena::from_tensors([("x", &tensor)]).unwrap();
    assert_eq!(arena.zero_copy(), ZeroCopy::Copied(WhyCopied::NoAllocator));
    // One copy, however often it is asked for.
    let [one, other] = [(); 2].map(|()| arena.tensor("x").unwrap());
    assert_eq!(util::address(&one), util::address(&other));
    assert_eq!(arena.copied_bytes().unwrap(), 0);
}
