//! A serde deserializer over nodes. Its errors have the span of the node.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::{de, forward_to_deserialize_any};

use crate::field_path::{FieldPath, Step};
use crate::merge::{BudgetExceeded, effective_entries, key_text};
use crate::scalar::Scalar;
use crate::span::Span;
use crate::tree::{Entry, Kind, NodeRef};

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
        unknown_field: fault.unknown_field,
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

    /// Gives integers and booleans without quotes as they are written, such as `0777` or `off`. The type of other nodes
    /// decides.
    fn deserialize_bytes<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.node.resolved();
        match (node.scalar(), node.text()) {
            (Some(Scalar::Bool(_) | Scalar::Int(_) | Scalar::UInt(_)), Some(text)) => visitor
                .visit_borrowed_bytes(text.as_bytes())
                .map_err(|fault: Fault| fault.at(node)),
            (Some(Scalar::Float(value)), _) if value.is_finite() => {
                let read: Result<_, Fault> = visitor.visit_f64(value);
                read.map_err(|fault| fault.at(node))
            }
            _ => self.visit_any(visitor),
        }
    }

    /// Rejects a list, which derived types would read as the values of their fields.
    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let node = self.node.resolved();
        match node.kind() {
            Kind::Sequence => {
                let fault: Fault = de::Error::invalid_type(de::Unexpected::Seq, &visitor);
                Err(fault.at(node))
            }
            _ => self.visit_any(visitor),
        }
    }

    /// Skips the value: nothing in it can have a wrong type.
    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
    }
}

/// Access to the items of a list.
pub(super) struct Items<'t, 'b> {
    pub(super) reader: Reader<'t, 'b>,
    pub(super) next: usize,
}

impl<'t> SeqAccess<'t> for Items<'t, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(item) = self.reader.node.item(self.next) else {
            return Ok(None);
        };
        let step = Step::Index(self.next);
        self.next += 1;
        let read = self.reader.child(item).map_err(|fault| fault.at(item));
        let value = read.and_then(|reader| {
            if item.is_null() {
                seed.deserialize(NullItem).map_err(|fault| fault.at(item))
            } else {
                seed.deserialize(reader)
            }
        });
        value.map(Some).map_err(|fault| fault.below(step))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.reader.node.items().len().saturating_sub(self.next))
    }
}

/// Access to the entries of a mapping, with merge keys applied.
pub(super) struct Entries<'t, 'b> {
    pub(super) reader: Reader<'t, 'b>,
    pub(super) entries: std::vec::IntoIter<Entry<'t>>,
    /// The entry of the key that was read last.
    pub(super) value: Option<Entry<'t>>,
}

impl<'t> MapAccess<'t> for Entries<'t, '_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(entry);
        read_key(entry.key, seed)
            .map(Some)
            .map_err(|fault| fault.at(entry.key))
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(entry) = self.value.take() else {
            return Err(fault("a value was requested before its key"));
        };
        read_value(self.reader, entry, seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

fn read_key<'t, S: DeserializeSeed<'t>>(key: NodeRef<'t>, seed: S) -> Result<S::Value, Fault> {
    match key_text(key) {
        Some(Cow::Borrowed(text)) => seed.deserialize(BorrowedStrDeserializer::<Fault>::new(text)),
        Some(Cow::Owned(text)) => {
            let text: StringDeserializer<Fault> = text.into_deserializer();
            seed.deserialize(text)
        }
        None => Err(fault("a key must be a string")),
    }
}

fn read_value<'t, S: DeserializeSeed<'t>>(
    reader: Reader<'t, '_>,
    entry: Entry<'t>,
    seed: S,
) -> Result<S::Value, Fault> {
    let read = reader
        .child(entry.value)
        .map_err(|fault| fault.at(entry.value));
    read.and_then(|reader| seed.deserialize(reader))
        .map_err(|fault| {
            let key = key_text(entry.key).unwrap_or_default();
            fault.at(entry.value).below(Step::from(key.into_owned()))
        })
}

/// Reason why a node cannot be deserialized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeError {
    /// The span of the faulty node.
    pub span: Span,
    /// The path from the given node to the faulty one.
    pub route: FieldPath,
    /// What is wrong.
    pub message: String,
    /// The key, and the known ones, if the type has no field for the key.
    pub unknown_field: Option<(String, &'static [&'static str])>,
}

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.route.steps().is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.route, self.message)
        }
    }
}

impl std::error::Error for DeError {}

/// An error while it is returned: the innermost reader sets the position, and all others add their step.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) span: Option<Span>,
    /// Steps from the inside out.
    pub(super) steps: Vec<Step>,
    pub(super) message: String,
    pub(super) unknown_field: Option<(String, &'static [&'static str])>,
}

impl Fault {
    pub(super) fn at(mut self, node: NodeRef<'_>) -> Self {
        self.span.get_or_insert(node.span());
        self
    }

    pub(super) fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            span: None,
            steps: Vec::new(),
            message: message.to_string(),
            unknown_field: None,
        }
    }

    /// Names null as JSON and YAML do, which serde calls a unit value.
    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        match found {
            de::Unexpected::Unit => {
                Self::custom(format_args!("invalid type: null, expected {expected}"))
            }
            found => Self::custom(format_args!("invalid type: {found}, expected {expected}")),
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self {
            unknown_field: Some((field.to_owned(), expected)),
            ..Self::custom(format_args!("unknown field `{field}`"))
        }
    }
}

/// Returns an error without a position.
pub(super) fn fault(message: &str) -> Fault {
    de::Error::custom(message)
}

impl From<BudgetExceeded> for Fault {
    fn from(_: BudgetExceeded) -> Self {
        fault("aliases repeat too many nodes")
    }
}

/// Reader of a node, with the limits that remain.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t, 'b> {
    pub(super) node: NodeRef<'t>,
    pub(super) budget: &'b Cell<usize>,
    pub(super) depth: usize,
}

impl<'t, 'b> Reader<'t, 'b> {
    /// Returns a reader of a node below this one.
    ///
    /// # Errors
    /// [`Fault`] if the node is nested too deep, or aliases repeat too many nodes.
    pub(super) fn child(self, node: NodeRef<'t>) -> Result<Reader<'t, 'b>, Fault> {
        let left = self.budget.get().checked_sub(1);
        self.budget.set(left.ok_or(BudgetExceeded)?);
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| fault("nested too deep"))?;
        Ok(Reader {
            node,
            budget: self.budget,
            depth,
        })
    }
}

/// A null in a list, which is the zero value of the type of the items: `[null]` is a list of one empty string. The lists of
/// probes and hooks contain strings (`command`) and objects (`httpHeaders`).
///
/// Source: the documentation of Go's `encoding/json` (`Unmarshal`: a null has no effect on a value that cannot be nil),
/// and Kubernetes 1.37.2, compared by `tests/oracle/kubernetes.sh`.
pub(super) struct NullItem;

impl<'t> Deserializer<'t> for NullItem {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_str("")
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(MapDeserializer::<_, Fault>::new(
            std::iter::empty::<((), ())>(),
        ))
    }

    forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}
