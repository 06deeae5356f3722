//! The serde `Deserializer` of a node.

use std::cell::Cell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::forward_to_deserialize_any;

use super::access::{Entries, Items, Variant};
use super::error::{DeError, Fault, fault};
use super::reader::Reader;
use crate::field_path::FieldPath;
use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::{Kind, NodeRef};

/// Limit on nesting, as in `serde_json`.
const DEPTH: usize = 128;
/// Nodes that may be read through aliases and merge keys, in addition to those that are written.
const EXTRA_NODES: usize = 100_000;

/// Deserializes a typed value from `node`.
///
/// # Errors
/// [`DeError`] with the position of the first node that does not fit `T`, that is nested deeper than
/// 128, or that aliases repeat too often.
pub fn from_node<T: DeserializeOwned>(node: NodeRef<'_>) -> Result<T, DeError> {
    let budget = Cell::new(node.tree().node_count().saturating_mul(2) + EXTRA_NODES);
    let reader = Reader {
        node,
        budget: &budget,
        depth: DEPTH,
    };
    T::deserialize(reader).map_err(|fault| DeError {
        span: fault.span.unwrap_or_else(|| node.span()),
        route: fault
            .steps
            .into_iter()
            .rev()
            .fold(FieldPath::root(), |route, step| route.child(step)),
        message: fault.message,
    })
}

impl<'t, 'b> Reader<'t, 'b> {
    pub(super) fn visit_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.node.resolved();
        let result = match node.kind() {
            Kind::Mapping => self
                .entries()
                .and_then(|entries| visitor.visit_map(entries)),
            Kind::Sequence => visitor.visit_seq(Items {
                reader: self,
                next: 0,
            }),
            Kind::Scalar | Kind::Alias => visit_scalar(node, visitor),
        };
        result.map_err(|fault| fault.at(node))
    }

    fn entries(self) -> Result<Entries<'t, 'b>, Fault> {
        let entries = effective_entries(self.node, self.budget)?;
        Ok(Entries {
            reader: self,
            entries: entries.into_iter(),
            value: None,
        })
    }
}

fn visit_scalar<'t, V: Visitor<'t>>(node: NodeRef<'t>, visitor: V) -> Result<V::Value, Fault> {
    match node.scalar() {
        None | Some(Scalar::Null) => visitor.visit_unit(),
        Some(Scalar::Bool(value)) => visitor.visit_bool(value),
        Some(Scalar::Int(value)) => visitor.visit_i64(value),
        Some(Scalar::UInt(value)) => visitor.visit_u64(value),
        Some(Scalar::Float(value)) if !value.is_finite() => Err(fault(
            "JSON, and therefore Kubernetes, does not support this number",
        )),
        Some(Scalar::Float(value)) => match integral(value) {
            Some(whole) => visitor.visit_i64(whole),
            None => visitor.visit_f64(value),
        },
        Some(Scalar::Str(text)) => visitor.visit_borrowed_str(text),
    }
}

/// Returns the integer that Go's JSON writer prints for this number, if it prints one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
fn integral(value: f64) -> Option<i64> {
    // 2^63 is the first float above the range of `i64`.
    let fits = value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0;
    fits.then_some(value as i64)
}

impl<'t> de::Deserializer<'t> for Reader<'t, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit_any(visitor)
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.node.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let node = self.node.resolved();
        if let Some(text) = node.as_str() {
            let unit: BorrowedStrDeserializer<'t, Fault> = BorrowedStrDeserializer::new(text);
            return visitor.visit_enum(unit).map_err(|fault| fault.at(node));
        }
        let mut entries = node.entries();
        match (entries.next(), entries.next()) {
            (Some(entry), None) => visitor
                .visit_enum(Variant {
                    reader: self,
                    entry,
                })
                .map_err(|fault| fault.at(node)),
            _ => Err(Fault::at(
                fault("expected a word, or a mapping with one key"),
                node,
            )),
        }
    }

    /// Skips the value: nothing in it can have a wrong type.
    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier
    }
}
