//! The binary forms of what no table's columns hold: addresses of hosts, places in the log, bit strings.

use std::net::IpAddr;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray};
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::{CatalogType, SqlType};

/// PostgreSQL's numbers for the families of addresses, which are not those of the operating system.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

/// The values in their binary form; `None` for a type whose values are sent as they are kept.
pub(super) fn encoded(array: &ArrayRef, catalog: CatalogType) -> Option<ArrayRef> {
    let encode: fn(&str) -> Option<Vec<u8>> = match catalog {
        CatalogType::Inet => inet,
        CatalogType::Lsn => lsn,
        CatalogType::Bit => bits,
        _ => return None,
    };
    let texts = array.as_string_opt::<i32>()?;
    Some(Arc::new(texts.iter().map(|text| text.and_then(encode)).collect::<BinaryArray>()))
}

/// What PostgreSQL says where a type has no binary form (42883).
pub(super) fn without_binary_form(sql_type: &SqlType) -> Box<SqlError> {
    let message = format!("no binary output function available for type {sql_type}");
    SqlError::new(ErrorKind::UndefinedFunction, message)
}

/// Family, bits of the network, whether it is a network, and the address behind its length.
fn inet(text: &str) -> Option<Vec<u8>> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        None => (text, None),
    };
    let (family, octets) = match address.parse().ok()? {
        IpAddr::V4(address) => (FAMILY_V4, address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILY_V6, address.octets().to_vec()),
    };
    let length = u8::try_from(octets.len()).ok()?;
    let mut out = vec![family, bits.unwrap_or(length * 8), 0, length];
    out.extend(octets);
    Some(out)
}

/// `16/B374D848` is one number of 64 bits, its halves in hexadecimal.
fn lsn(text: &str) -> Option<Vec<u8>> {
    let (high, low) = text.split_once('/')?;
    let half = |text| u32::from_str_radix(text, 16).ok();
    let (high, low) = (u64::from(half(high)?), u64::from(half(low)?));
    Some((high << 32 | low).to_be_bytes().to_vec())
}

/// The number of bits, and the bits in bytes of which the last is filled up with zeros.
fn bits(digits: &str) -> Option<Vec<u8>> {
    let mut out = i32::try_from(digits.len()).ok()?.to_be_bytes().to_vec();
    out.extend(digits.as_bytes().chunks(8).map(|eight| {
        let set = eight.iter().enumerate().filter(|(_, digit)| **digit == b'1');
        set.fold(0_u8, |byte, (place, _)| byte | 0x80 >> place)
    }));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_places_are_encoded_as_postgres_does() {
        assert_eq!(inet("127.0.0.1"), Some(vec![2, 32, 0, 4, 127, 0, 0, 1]));
        assert_eq!(inet("10.0.0.0/8"), Some(vec![2, 8, 0, 4, 10, 0, 0, 0]));
        assert_eq!(inet("::1").map(|bytes| (bytes[..4].to_vec(), bytes.len())), Some((vec![3, 128, 0, 16], 20)));
        assert_eq!(lsn("16/B374D848"), Some(0x16_B374_D848_u64.to_be_bytes().to_vec()));
        assert_eq!((inet("x"), lsn("1")), (None, None));
        assert_eq!(bits("101"), Some(vec![0, 0, 0, 3, 0xa0]));
        assert_eq!(bits("0000000011"), Some(vec![0, 0, 0, 10, 0, 0xc0]));
    }
}
