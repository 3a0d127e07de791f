//! `hashtext` and `hashtextextended`: numbers for texts, which applications take as keys of advisory locks.
//!
//! The numbers are PostgreSQL's, so that clients of both agree: Bob Jenkins' lookup3 with PostgreSQL's first values.

use arrow::datatypes::{Int32Type, Int64Type};

use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Int4, Int8, Text};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("hashtext", &[Text], Int4, |call| {
        let texts = call.text(0)?;
        call.numbers::<Int32Type>(|row| Ok(hash(texts.at(row).as_bytes(), 0).1.cast_signed()))
    }),
    Overload::new("hashtextextended", &[Text, Int8], Int8, |call| {
        let (texts, seeds) = (call.text(0)?, call.primitive::<Int64Type>(1)?);
        call.numbers::<Int64Type>(|row| {
            let (high, low) = hash(texts.at(row).as_bytes(), seeds.at(row).cast_unsigned());
            Ok((u64::from(high) << 32 | u64::from(low)).cast_signed())
        })
    }),
];

/// The upper and the lower half of the hash of some bytes.
fn hash(bytes: &[u8], seed: u64) -> (u32, u32) {
    // PostgreSQL adds the last number.
    let first = 0x9e37_79b9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut state = [first; 3];
    if seed != 0 {
        state[0] = state[0].wrapping_add((seed >> 32) as u32);
        state[1] = state[1].wrapping_add(seed as u32);
        mix(&mut state);
    }
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        add(&mut state, chunk, 0);
        mix(&mut state);
    }
    let rest = chunks.remainder();
    let (of_two, of_last) = rest.split_at(rest.len().min(8));
    add(&mut state, of_two, 0);
    // The lowest byte of the last number is the length's.
    add(&mut state[2..], of_last, 8);
    for (to, from, bits) in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)] {
        state[to] = (state[to] ^ state[from]).wrapping_sub(state[from].rotate_left(bits));
    }
    (state[1], state[2])
}

/// Adds bytes as little-endian numbers, the first one moved up by some bits.
fn add(state: &mut [u32], bytes: &[u8], shift: u32) {
    for (number, four) in state.iter_mut().zip(bytes.chunks(4)) {
        let value = four.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
        *number = number.wrapping_add(value << shift);
    }
}

fn mix(state: &mut [u32; 3]) {
    for (round, bits) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let (to, from, next) = (round % 3, (round + 2) % 3, (round + 1) % 3);
        state[to] = state[to].wrapping_sub(state[from]) ^ state[from].rotate_left(bits);
        state[from] = state[from].wrapping_add(state[next]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_postgresql() {
        for (text, of_text, extended, with_seed) in [
            ("", -1_477_818_771, -6_939_563_903_564_495_251, -1_884_138_743_108_186_319),
            ("a", 1_075_015_857, 3_591_986_179_850_072_241, 1_001_817_444_981_943_461),
            ("abcdefgh", -1_960_928_205, -8_882_191_227_074_733_005, 8_109_945_553_963_719_208),
            ("abcdefghijk", -1_483_803_693, 3_112_909_444_737_856_467, -1_667_165_655_800_126_120),
            ("abcdefghijkl", -1_586_087_212, -7_556_637_188_122_330_412, 5_127_426_427_500_391_550),
            ("hello world, how are you", -14_574_851, -2_496_122_026_219_955_459, -2_482_552_210_053_979_448),
            ("ééééééééé", -1_246_230_838, -1_020_618_104_906_447_158, -9_218_581_762_732_543_496),
        ] {
            let whole = |seed: i64| {
                let (high, low) = hash(text.as_bytes(), seed.cast_unsigned());
                (u64::from(high) << 32 | u64::from(low)).cast_signed()
            };
            assert_eq!(hash(text.as_bytes(), 0).1.cast_signed(), of_text, "{text}");
            assert_eq!((whole(0), whole(-12_345_678_901)), (extended, with_seed), "{text}");
        }
    }
}
