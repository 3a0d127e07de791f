//! Looks through COPY input for the few bytes that mean something, many at a time.

/// So many are compared at once.
const STEP: usize = 16;

/// Where the first one is of the wanted bytes.
pub(super) fn find_any<const N: usize>(bytes: &[u8], wanted: [u8; N]) -> Option<usize> {
    let is_wanted = |byte: &u8| wanted.iter().fold(false, |found, wanted| found | (byte == wanted));
    // Without a way out in the middle, so that the compiler has the processor compare them together.
    let holds = |step: &[u8]| step.iter().fold(false, |found, byte| found | is_wanted(byte));
    let before = STEP * bytes.chunks_exact(STEP).take_while(|step| !holds(step)).count();
    bytes[before..].iter().position(is_wanted).map(|place| before + place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_one_is_found_wherever_it_is(bytes in prop::collection::vec(0_u8..12, 0..100), plain in 0_usize..80) {
            let bytes = [vec![99; plain], bytes].concat();
            let expected = bytes.iter().position(|byte| [1, 7, 9].contains(byte));
            prop_assert_eq!(find_any(&bytes, [1, 7, 9]), expected);
        }
    }
}
