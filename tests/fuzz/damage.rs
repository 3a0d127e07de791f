//! What happens to a conversation on its way.

use crate::fuzz::conversation::{message, noise};
use crate::support::rng::Rng;

/// Changes some messages of three conversations in four; the others stay as their clients meant them.
pub(super) fn change(rng: &mut Rng, frames: &mut Vec<Vec<u8>>) {
    if rng.percent(25) {
        return;
    }
    for _ in 0..=rng.below(4) {
        if frames.is_empty() {
            return;
        }
        let (at, last) = (rng.below(frames.len()), frames.len() - 1);
        match rng.below(10) {
            0 => repeat(rng, frames, at),
            1 => frames.swap(at, last),
            2 => drop(frames.remove(at)),
            3 => frames.insert(at, message(rng.pick(b"QPBDECHSXFdcfp"), &noise(rng, 64))),
            4 => frames.insert(at, noise(rng, 64)),
            5 => promise_another_length(rng, &mut frames[at]),
            6 => {
                let kept = rng.below(frames[at].len() + 1);
                frames[at].truncate(kept);
            }
            _ => change_bytes(rng, &mut frames[at]),
        }
    }
}

fn repeat(rng: &mut Rng, frames: &mut Vec<Vec<u8>>, at: usize) {
    let again = frames[at].clone();
    for _ in 0..=rng.below(3) {
        frames.insert(at, again.clone());
    }
}

fn promise_another_length(rng: &mut Rng, frame: &mut [u8]) {
    let Some(place) = frame.get_mut(1..5) else { return };
    let length = rng.pick(&[0_u32, 3, 4, 5, 100, 70_000, 1 << 24, 1 << 30, u32::MAX]);
    place.copy_from_slice(&length.to_be_bytes());
}

/// Other bytes, more bytes or fewer, at one place.
fn change_bytes(rng: &mut Rng, frame: &mut Vec<u8>) {
    let at = rng.below(frame.len() + 1);
    match rng.below(3) {
        0 => {
            let more = noise(rng, 8);
            frame.splice(at..at, more);
        }
        1 => {
            let end = (at + rng.below(8)).min(frame.len());
            frame.drain(at..end);
        }
        _ => {
            if let Some(byte) = frame.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
    }
}
