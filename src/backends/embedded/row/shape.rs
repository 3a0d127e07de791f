//! Shapes: the property names and types that rows have in common, and where their values lie.

use std::collections::HashMap;
use std::sync::Arc;

use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_store::model::{EdmRef, EdmType, Properties, PropertyName};

use super::super::bytes::{Bytes, put_text, put_varint};

/// Most shapes a table keeps. Tables whose entities all differ would otherwise keep one for each row; beyond this
/// number a new shape stands in its row.
const SHAPES_MAX: usize = 256;

/// The properties of a row in order, with the places of their values.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Shape {
    properties: Vec<ShapeProperty>,
    /// Length of the fixed area.
    pub(super) fixed_bytes: usize,
    /// How many values are texts or binaries.
    pub(super) variables: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::embedded) struct ShapeProperty {
    pub(in crate::embedded) name: PropertyName,
    pub(in crate::embedded) edm_type: EdmType,
    pub(super) slot: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Offset in the fixed area.
    Fixed(usize),
    /// Index among the texts and binaries.
    Variable(usize),
}

impl Shape {
    pub(in crate::embedded) fn of(properties: &Properties) -> Self {
        Self::new(properties.iter().map(|(name, value)| (name.clone(), value.edm_type())))
    }

    pub(in crate::embedded) fn new(properties: impl IntoIterator<Item = (PropertyName, EdmType)>) -> Self {
        let (mut fixed_bytes, mut variables) = (0, 0);
        let mut place = |(name, edm_type): (PropertyName, EdmType)| {
            let slot = match fixed_width(edm_type) {
                Some(width) => {
                    fixed_bytes += width;
                    Slot::Fixed(fixed_bytes - width)
                }
                None => {
                    variables += 1;
                    Slot::Variable(variables - 1)
                }
            };
            ShapeProperty { name, edm_type, slot }
        };
        let properties = properties.into_iter().map(&mut place).collect();
        Self { properties, fixed_bytes, variables }
    }

    /// Whether it is that of these properties.
    pub(in crate::embedded) fn is_of(&self, properties: &Properties) -> bool {
        let is_it = |(own, (name, value)): (&ShapeProperty, (&PropertyName, EdmRef<'_>))| {
            own.edm_type == value.edm_type() && own.name == *name
        };
        self.properties.len() == properties.len() && self.properties.iter().zip(properties.iter()).all(is_it)
    }

    pub(in crate::embedded) fn properties(&self) -> &[ShapeProperty] {
        &self.properties
    }

    /// What [`put_signature`] wrote, taken from the front; `None` when it is not that.
    pub(in crate::embedded) fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let count = usize::try_from(bytes.varint()?).ok().filter(|count| *count <= CUSTOM_PROPERTIES_MAX)?;
        let property = |_| {
            let name = PropertyName::parse(bytes.text()?).ok()?;
            Some((name, EdmType::from_code(bytes.byte()?)?))
        };
        let properties: Option<Vec<_>> = (0..count).map(property).collect();
        Some(Self::new(properties?))
    }
}

/// Writes names and types of properties: two sets have the same shape exactly when these bytes are the same.
pub(in crate::embedded) fn put_signature(out: &mut Vec<u8>, properties: &Properties) {
    put_signature_of(out, properties.iter().map(|(name, value)| (name, value.edm_type())));
}

/// As [`put_signature`], of names and types.
pub(in crate::embedded) fn put_signature_of<'a>(
    out: &mut Vec<u8>,
    properties: impl ExactSizeIterator<Item = (&'a PropertyName, EdmType)>,
) {
    put_varint(out, properties.len() as u64);
    for (name, edm_type) in properties {
        put_text(out, name.as_str());
        out.push(edm_type.code());
    }
}

/// Bytes of a value in the fixed area; `None` for texts and binaries.
pub(super) fn fixed_width(edm_type: EdmType) -> Option<usize> {
    match edm_type {
        EdmType::String | EdmType::Binary => None,
        EdmType::Boolean => Some(1),
        EdmType::Int32 => Some(4),
        EdmType::Int64 | EdmType::Double | EdmType::DateTime => Some(8),
        EdmType::Guid => Some(16),
    }
}

/// The shapes of one table under their numbers. Shapes are only ever added.
#[derive(Debug, Clone, Default)]
pub(in crate::embedded) struct Shapes {
    list: Vec<Arc<Shape>>,
    numbers: HashMap<Arc<[u8]>, u32>,
}

impl Shapes {
    pub(in crate::embedded) fn get(&self, number: u32) -> Option<&Shape> {
        self.list.get(usize::try_from(number).ok()?).map(Arc::as_ref)
    }

    /// The number of the shape with this signature.
    pub(in crate::embedded) fn number_of(&self, signature: &[u8]) -> Option<u32> {
        self.numbers.get(signature).copied()
    }

    pub(in crate::embedded) fn is_full(&self) -> bool {
        self.list.len() >= SHAPES_MAX
    }

    pub(in crate::embedded) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a shape that is not there yet; its number.
    pub(in crate::embedded) fn add(&mut self, signature: &[u8], shape: Shape) -> u32 {
        let number = u32::try_from(self.list.len()).expect("a table has few shapes");
        self.list.push(Arc::new(shape));
        self.numbers.insert(signature.into(), number);
        number
    }

    /// Number and signature of the shapes behind the first `known`.
    pub(in crate::embedded) fn behind(&self, known: usize) -> impl Iterator<Item = (u32, &[u8])> {
        let is_new = move |number: u32| usize::try_from(number).is_ok_and(|number| number >= known);
        self.numbers.iter().filter(move |(_, number)| is_new(**number)).map(|(bytes, number)| (*number, &**bytes))
    }
}
