//! The binary forms of what only the system catalogue's columns hold: addresses of hosts and places in the log.

use std::net::IpAddr;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray};

use crate::sql::error::{ErrorKind, SqlError};
use crate::sql::types::{CatalogType, SqlType};

/// PostgreSQL's numbers for the families of addresses, which are not those of the operating system.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

/// The values in their binary form; `None` for a type whose values are sent as they are kept.
pub(super) fn encoded(array: &ArrayRef, catalog: CatalogType) -> Option<ArrayRef> {
    let encode: fn(&str) -> Option<Vec<u8>> = match catalog {
        CatalogType::Inet => inet,
        CatalogType::Lsn => lsn,
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
    }
}
