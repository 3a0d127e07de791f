//! Rows survive their bytes, other bytes are refused, and the bytes of version 1 stay what they are.

use proptest::prelude::*;
use tablegate_store::model::{EdmDateTime, EdmValue, Properties, PropertyName};
use uuid::Uuid;

use super::*;

fn name(text: &str) -> PropertyName {
    PropertyName::parse(text).unwrap()
}

fn instant() -> impl Strategy<Value = EdmDateTime> {
    (EdmDateTime::MIN.unix_ticks()..=EdmDateTime::MAX.unix_ticks())
        .prop_map(|ticks| EdmDateTime::from_unix_ticks(ticks).unwrap())
}

fn instant_of(ticks: i64) -> EdmDateTime {
    EdmDateTime::from_unix_ticks(ticks).unwrap()
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        ".{0,20}".prop_map(EdmValue::string),
        any::<i32>().prop_map(EdmValue::Int32),
        any::<i64>().prop_map(EdmValue::Int64),
        any::<u64>().prop_map(|bits| EdmValue::Double(f64::from_bits(bits))),
        any::<bool>().prop_map(EdmValue::Boolean),
        instant().prop_map(EdmValue::DateTime),
        any::<u128>().prop_map(|bits| EdmValue::Guid(Uuid::from_u128(bits))),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| EdmValue::Binary(bytes.into())),
        // Long enough for wide end offsets.
        (0_usize..65_536).prop_map(|length| EdmValue::Binary(vec![7; length].into())),
    ]
}

fn properties() -> impl Strategy<Value = Properties> {
    prop::collection::vec(("[a-eé_]{1,3}", value()), 0..12)
        .prop_map(|pairs| pairs.into_iter().map(|(text, value)| (name(&text), value)).collect())
}

fn encoded(properties: &Properties, timestamp: EdmDateTime, shape: Option<u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(properties, timestamp, shape, &mut bytes);
    bytes
}

fn shapes_with(properties: &Properties) -> (Shapes, u32) {
    let mut signature = Vec::new();
    put_signature(&mut signature, properties);
    let mut shapes = Shapes::default();
    shapes.add(b"other", Shape::of(&Properties::new()));
    let number = shapes.add(&signature, Shape::of(properties));
    assert_eq!(shapes.number_of(&signature), Some(number));
    (shapes, number)
}

/// Bit for bit: NaN equals itself, -0.0 is not 0.0.
fn exactly(properties: &Properties) -> Vec<String> {
    let text = |(name, value): (&PropertyName, tablegate_store::model::EdmRef<'_>)| match value {
        tablegate_store::model::EdmRef::Double(v) => format!("{name} {:016x}", v.to_bits()),
        other => format!("{name} {other:?}"),
    };
    properties.iter().map(text).collect()
}

/// Reads all there is to read.
fn read_all(bytes: &[u8], shapes: &Shapes) -> Result<Properties, RowError> {
    let row = Row::parse(bytes, shapes)?;
    for index in 0..=row.shape().properties().len() {
        let _ = row.value(index);
    }
    row.properties()
}

proptest! {
    #[test]
    fn rows_survive(properties in properties(), timestamp in instant(), in_row in any::<bool>()) {
        let (shapes, number) = shapes_with(&properties);
        let number = (!in_row).then_some(number);
        let bytes = encoded(&properties, timestamp, number);
        let row = Row::parse(&bytes, &shapes).unwrap();
        prop_assert_eq!((row.timestamp, row.shape_number()), (timestamp, number));
        prop_assert_eq!(exactly(&row.properties().unwrap()), exactly(&properties));
    }

    /// New values for some of the properties, of the types that they have.
    #[test]
    fn a_patched_row_is_that_of_the_merged_properties(
        stored in properties(), other in prop::collection::vec(value(), 40), timestamp in instant(), from in 0..4_usize,
    ) {
        let (shapes, number) = shapes_with(&stored);
        let of_its_type = |(name, value): (&PropertyName, tablegate_store::model::EdmRef<'_>)| {
            let new = other.iter().find(|other| other.edm_type() == value.edm_type())?;
            Some((name.clone(), new.clone()))
        };
        let new: Properties = stored.iter().skip(from).filter_map(of_its_type).collect();
        let values: Vec<_> = new.iter().collect();
        let bytes = encoded(&stored, instant_of(1), Some(number));
        let row = Row::parse(&bytes, &shapes).unwrap();
        let patch = Patch::of(row.shape(), values.iter().map(|(name, value)| (*name, value.edm_type()))).unwrap();
        let mut patched = Vec::new();
        patch.put(&row, |number| values[number].1, timestamp, &mut patched).unwrap();
        let mut merged = stored.clone();
        merged.merge(new.clone());
        prop_assert_eq!(patched, encoded(&merged, timestamp, Some(number)));
        // What the shape does not have, or in another type, takes another way.
        let absent = name("absent");
        let absent = [(&absent, tablegate_store::model::EdmType::Int32)].into_iter();
        prop_assert!(Patch::of(row.shape(), absent).is_none());
        for (name, value) in stored.iter() {
            let types = [tablegate_store::model::EdmType::Int32, tablegate_store::model::EdmType::String];
            let other = types.into_iter().find(|other| *other != value.edm_type()).unwrap();
            prop_assert!(Patch::of(row.shape(), [(name, other)].into_iter()).is_none());
        }
    }

    #[test]
    fn a_row_that_is_cut_or_goes_on_is_refused(properties in properties(), timestamp in instant(), in_row in any::<bool>(), at in any::<prop::sample::Index>()) {
        let (shapes, number) = shapes_with(&properties);
        let mut bytes = encoded(&properties, timestamp, (!in_row).then_some(number));
        prop_assert!(read_all(&bytes[..at.index(bytes.len())], &shapes).is_err());
        bytes.push(0);
        prop_assert!(read_all(&bytes, &shapes).is_err());
    }

    #[test]
    fn a_garbled_row_is_no_panic(properties in properties(), timestamp in instant(), in_row in any::<bool>(), at in any::<prop::sample::Index>(), bits in 1_u8..) {
        let (shapes, number) = shapes_with(&properties);
        let mut bytes = encoded(&properties, timestamp, (!in_row).then_some(number));
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        let _ = read_all(&bytes, &shapes);
    }

    #[test]
    fn garbage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let (shapes, _) = shapes_with(&[(name("a"), EdmValue::string("x"))].into_iter().collect());
        let _ = read_all(&bytes, &shapes);
        let _ = read_all(&[&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], bytes.as_slice()].concat(), &shapes);
    }
}

fn sample() -> (Properties, EdmDateTime) {
    let at = EdmDateTime::parse("2021-09-21T00:54:03.1536324Z").unwrap();
    let properties = [
        (name("text"), EdmValue::string("grün")),
        (name("i32"), EdmValue::Int32(-2)),
        (name("i64"), EdmValue::Int64(1 << 40)),
        (name("double"), EdmValue::Double(0.5)),
        (name("yes"), EdmValue::Boolean(true)),
        (name("at"), EdmValue::DateTime(at)),
        (name("guid"), EdmValue::Guid(Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff))),
        (name("binary"), EdmValue::Binary(vec![1, 2, 3].into())),
    ];
    (properties.into_iter().collect(), at)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Data folders hold these bytes: a change here needs a new version of the format.
#[test]
fn version_1_is_frozen() {
    let (properties, at) = sample();
    let (shapes, number) = shapes_with(&properties);
    let bytes = encoded(&properties, at, Some(number));
    assert_eq!(hex(&bytes), FROZEN_KEPT);
    assert_eq!(hex(&encoded(&properties, at, None)), FROZEN_IN_ROW);
    assert_eq!(Row::parse(&bytes, &shapes).unwrap().properties().unwrap(), properties);
}

const FROZEN_KEPT: &str = "0104c438ad56a4fc3900feffffff0000000000010000000000000000e03f01c438ad56a4fc390000112233445566778899aabbccddeeff050008006772c3bc6e010203";
const FROZEN_IN_ROW: &str = "0100c438ad56a4fc3900080474657874000369333201036936340206646f75626c65030379657304026174050467756964060662696e61727907feffffff0000000000010000000000000000e03f01c438ad56a4fc390000112233445566778899aabbccddeeff050008006772c3bc6e010203";

#[test]
fn other_versions_are_refused() {
    let bytes = [2, 0, 0, 0];
    assert_eq!(Row::parse(&bytes, &Shapes::default()).unwrap_err(), RowError::OtherVersion(2));
}

#[test]
fn a_row_of_an_unknown_shape_is_refused() {
    let (properties, at) = sample();
    let bytes = encoded(&properties, at, Some(5));
    assert_eq!(Row::parse(&bytes, &Shapes::default()).unwrap_err(), RowError::UnknownShape(5));
}
