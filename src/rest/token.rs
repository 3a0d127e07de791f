//! Continuation tokens: a key, in the service's own form `1!<length>!<Base64, with - for =>`.
//!
//! A token names a position and nothing else. So it holds after a restart, and whatever was written in between.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Refusal, RestResult};

pub(crate) fn encode(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

/// # Errors
/// For what [`encode`] does not write.
pub(crate) fn decode(token: &str) -> RestResult<String> {
    let key = || {
        let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
        let bytes = STANDARD.decode(text.replace('-', "=")).ok()?;
        (length.parse() == Ok(text.len())).then_some(())?;
        String::from_utf8(bytes).ok()
    };
    key().ok_or(Refusal::InvalidInput)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_is_as_the_service_writes_it() {
        assert_eq!(encode("px810166e8"), "1!16!cHg4MTAxNjZlOA--");
        assert_eq!(decode(""), Err(Refusal::InvalidInput));
        assert_eq!(decode("1!3!YQ--"), Err(Refusal::InvalidInput));
    }

    proptest! {
        #[test]
        fn a_token_is_read_as_it_was_written(key in ".{0,20}") {
            prop_assert_eq!(decode(&encode(&key)), Ok(key));
        }
    }
}
