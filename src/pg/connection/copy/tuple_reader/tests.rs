//! Binary input read at every cut, and what is said of input that is wrong.

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int32Type;

use super::*;

fn reader() -> TupleReader {
    let columns = [("a".to_owned(), SqlType::Int4), ("b".to_owned(), SqlType::Varchar(Some(3)))];
    TupleReader::new("t".into(), columns.into(), Reading::default(), InputRoom::default())
}

fn input(tuples: &[u8]) -> Vec<u8> {
    [SIGNATURE, &[0; 8], tuples].concat()
}

fn tuple(cells: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = i16::try_from(cells.len()).unwrap().to_be_bytes().to_vec();
    for cell in cells {
        let length = cell.map_or(-1, |cell| i32::try_from(cell.len()).unwrap());
        bytes.extend(length.to_be_bytes());
        bytes.extend(cell.unwrap_or_default());
    }
    bytes
}

const END: [u8; 2] = [0xff, 0xff];

type Row = (Option<i32>, Option<String>);

fn read(pieces: &[&[u8]]) -> SqlResult<Vec<Row>> {
    let mut reader = reader();
    let mut rows = Vec::new();
    for piece in pieces {
        reader.feed(piece).unwrap();
        while let Some((read, _)) = reader.full_batch()? {
            rows.extend(cells(&read));
        }
    }
    rows.extend(cells(&reader.last_batch()?.0));
    Ok(rows)
}

fn cells(read: &CopiedRows) -> Vec<Row> {
    let batch = read.batch();
    let (a, b) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
    (0..batch.num_rows())
        .map(|i| (a.is_valid(i).then(|| a.value(i)), b.is_valid(i).then(|| b.value(i).to_owned())))
        .collect()
}

#[test]
fn tuples_at_every_cut() {
    let tuples = [tuple(&[Some(&[0, 0, 0, 7]), Some(b"xyz")]), tuple(&[None, Some(b"")]), END.to_vec()].concat();
    let input = input(&tuples);
    let expected = vec![(Some(7), Some("xyz".to_owned())), (None, Some(String::new()))];
    for cut in 0..=input.len() {
        assert_eq!(read(&[&input[..cut], &input[cut..]]).unwrap(), expected, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read(&bytes).unwrap(), expected);
    assert_eq!(read(&[&input[..input.len() - 2]]).unwrap(), expected);
}

#[test]
fn what_is_wrong_is_said_as_postgresql_says_it() {
    let header = |flags: i32, length: i32| [SIGNATURE, &flags.to_be_bytes(), &length.to_be_bytes()].concat();
    let good = tuple(&[None, None]);
    for (bytes, message, context) in [
        (b"".to_vec(), "COPY file signature not recognized", None),
        (b"PGCOPX".to_vec(), "COPY file signature not recognized", None),
        (SIGNATURE.to_vec(), "invalid COPY file header (missing flags)", None),
        ([SIGNATURE, &[0; 5]].concat(), "invalid COPY file header (missing length)", None),
        (header(0, -1), "invalid COPY file header (missing length)", None),
        (header(0, 9), "invalid COPY file header (wrong length)", None),
        (header(1 << 16, 0), "invalid COPY file header (WITH OIDS)", None),
        (header(1 << 20, 0), "unrecognized critical flags in COPY file header", None),
        (input(&tuple(&[None])), "row field count is 1, expected 2", Some("COPY t, line 1")),
        (input(&[good.clone(), vec![0, 2]].concat()), "unexpected EOF in COPY data", Some("COPY t, line 2, column a")),
        (input(&[0, 2, 0xff, 0xff, 0xff, 0xfe]), "invalid field size", Some("COPY t, line 1, column a")),
        (input(&[&END[..], b"x"].concat()), "received copy data after EOF marker", Some("COPY t, line 1")),
        (input(&tuple(&[Some(b"abc"), None])), "insufficient data left in message", Some("COPY t, line 1, column a")),
        (input(&tuple(&[Some(b"abcde"), None])), "incorrect binary data format", Some("COPY t, line 1, column a")),
        (
            input(&tuple(&[None, Some(b"abcd")])),
            "value too long for type character varying(3)",
            Some("COPY t, line 1, column b"),
        ),
    ] {
        let error = read(&[&bytes]).unwrap_err();
        assert_eq!((error.message.as_str(), error.context.as_deref()), (message, context));
    }
}

#[test]
fn an_extension_of_the_header_is_skipped() {
    let bytes = [SIGNATURE, &[0, 0, 0, 5, 0, 0, 0, 3], b"xyz", &END].concat();
    assert_eq!(read(&[&bytes]).unwrap(), []);
}
