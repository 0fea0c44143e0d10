//! The fuzz target's corpus, and changes of it, so that a stable compiler guards what was found.
//! Long runs are the fuzz target's business.

#[path = "../../fuzz/harness.rs"]
mod harness;

use harness::{FIT, LENGTHEN, SEAL, SIGN};

fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/opener");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % n
    }

    fn byte(&mut self) -> u8 {
        self.0.to_le_bytes()[self.below(8)]
    }
}

/// One to five changes of a file, most of them where the header is.
fn changed(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let near = [0, 1, 2, 20, 63, 64, 128, 192, 4096, 8192, 1 << 20, 1 << 62, u64::MAX - 63];
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(5) {
        let length = input.len();
        let limit = if random.below(4) == 0 { length } else { length.min(400) };
        let at = random.below(limit.max(1));
        match random.below(8) {
            0 => input.truncate(at.max(1)),
            1 => {
                let other = &corpus[random.below(corpus.len())];
                input.truncate(at.max(1));
                input.extend(&other[at.min(other.len())..]);
            }
            2 | 3 if at + 8 <= length => {
                let number = near[random.below(near.len())].wrapping_add(random.below(3) as u64);
                input[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            4 if at < length => input[at] = input[at].wrapping_add(1),
            5 if at < length => input[at] = input[at].wrapping_sub(1),
            6 => input.insert(at.min(length), random.byte()),
            _ if at < length => input[at] = random.byte(),
            _ => {}
        }
    }
    if random.below(4) != 0 {
        // Behind the checks that find accidents.
        input[0] |= SIGN | LENGTHEN;
    }
    input
}

#[test]
fn the_corpus_of_the_fuzz_target_is_let_in_or_refused() {
    let corpus = corpus();
    assert!(corpus.len() >= 10, "{} files", corpus.len());
    for mut input in corpus {
        harness::open(&input);
        // As another kind of file, and as one that was let in without a change.
        let mode = input[0];
        for change in [SIGN, LENGTHEN, FIT, SEAL] {
            input[0] = mode ^ change;
            harness::open(&input);
        }
    }
}

#[test]
fn so_are_changes_of_it() {
    let (corpus, mut random) = (corpus(), Random(1));
    for _ in 0..3000 {
        harness::open(&changed(&corpus, &mut random));
    }
}
