//! Text inside keys: escapes that keep the order and leave every result legal.
//!
//! A character that cannot stand for itself is written as two: the nearest legal character below its group, then a
//! digit or letter that counts up inside the group. That lead character is written the same way, so no text means two
//! things, and characters keep their order because groups do.

use std::borrow::Cow;

/// What counts up behind a lead character.
const CODES: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Characters written as `lead` and a code: `first` to `last`, which are next to each other.
struct Group {
    lead: char,
    first: char,
    last: char,
}

/// Spaces and what sorts below them, always escaped: a space ends the part.
const BLANKS: Group = Group { lead: '!', first: '\u{1}', last: '!' };

/// What keys cannot hold besides control characters below the space, each group with its lead character.
const ILLEGAL: [Group; 5] = [
    Group { lead: '"', first: '"', last: '#' },
    Group { lead: '.', first: '.', last: '/' },
    Group { lead: '>', first: '>', last: '?' },
    Group { lead: '[', first: '[', last: '\\' },
    Group { lead: '~', first: '~', last: '\u{9f}' },
];

/// Appends `text` escaped; `all`: also the characters that keys cannot hold. Total and order-preserving for every text,
/// so that a text no key can hold still has its place between those that can.
pub(super) fn push_escaped(text: &str, all: bool, out: &mut String) {
    for c in text.chars() {
        match group_of(c, all) {
            Some(group) => {
                out.push(group.lead);
                out.push(group.code(c));
            }
            None => out.push(c),
        }
    }
}

/// The text that was escaped; `None` for what [`push_escaped`] does not write for a text that may be in a key.
pub(super) fn unescape(escaped: &str, all: bool) -> Option<Cow<'_, str>> {
    if escaped.chars().all(|c| group_of(c, all).is_none()) {
        return Some(Cow::Borrowed(escaped));
    }
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped.chars();
    while let Some(c) = rest.next() {
        let Some(group) = group_of(c, all) else {
            text.push(c);
            continue;
        };
        if c != group.lead {
            return None;
        }
        let decoded = group.decode(rest.next()?)?;
        if !all && decoded < ' ' {
            return None;
        }
        text.push(decoded);
    }
    Some(Cow::Owned(text))
}

fn group_of(c: char, all: bool) -> Option<&'static Group> {
    if c <= '!' {
        return Some(&BLANKS);
    }
    if !all {
        return None;
    }
    ILLEGAL.iter().find(|group| (group.first..=group.last).contains(&c))
}

impl Group {
    fn code(&self, c: char) -> char {
        // U+0000 cannot be stored; as a bound it sorts below everything else in its group.
        let index = u32::from(c).checked_sub(u32::from(self.first)).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| CODES.get(index)).map_or(' ', |code| char::from(*code))
    }

    fn decode(&self, code: char) -> Option<char> {
        let index = CODES.iter().position(|c| char::from(*c) == code)?;
        let decoded = char::from_u32(u32::from(self.first) + u32::try_from(index).ok()?)?;
        (decoded <= self.last).then_some(decoded)
    }
}
