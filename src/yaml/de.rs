//! Reads typed values straight from nodes, so that an error knows the exact place.
//!
//! The rules are those of `sigs.k8s.io/yaml`, which turns YAML into JSON and reads that: merge
//! keys are applied, the last of duplicate keys wins, scalars follow YAML 1.1, and `8080.0`
//! becomes the integer that JSON prints for it.

mod access;

use std::cell::Cell;
use std::fmt;

use access::{Entries, Items, Variant};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::forward_to_deserialize_any;

use super::merge::{Overrun, effective_entries};
use super::route::{Route, Step};
use super::scalar::Scalar;
use super::span::Span;
use super::tree::{Kind, NodeRef};

/// Why a node is not the wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeError {
    /// The bytes at fault.
    pub span: Span,
    /// The way from the given node to the one at fault.
    pub route: Route,
    /// What is wrong.
    pub message: String,
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

/// Nesting that is read; as much as `serde_json` reads.
const DEPTH: usize = 128;
/// Nodes that may be read beyond those written, through aliases and merge keys.
const EXTRA_NODES: usize = 100_000;

/// Reads a typed value from `node`.
///
/// # Errors
/// [`DeError`] with the place of the first node that does not fit `T`, that is nested deeper than
/// 128, or that aliases multiply beyond measure.
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
            .fold(Route::root(), |route, step| route.child(step)),
        message: fault.message,
    })
}

/// An error on its way out: the innermost reader gives the place, all others add their step.
#[derive(Debug)]
struct Fault {
    span: Option<Span>,
    /// From the inside out.
    steps: Vec<Step>,
    message: String,
}

impl Fault {
    fn at(mut self, node: NodeRef<'_>) -> Self {
        self.span.get_or_insert(node.span());
        self
    }

    fn below(mut self, step: Step) -> Self {
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
        }
    }
}

fn fault(message: &str) -> Fault {
    de::Error::custom(message)
}

impl From<Overrun> for Fault {
    fn from(_: Overrun) -> Self {
        fault("aliases repeat too many nodes")
    }
}

#[derive(Clone, Copy)]
struct Reader<'t, 'b> {
    node: NodeRef<'t>,
    budget: &'b Cell<usize>,
    depth: usize,
}

impl<'t, 'b> Reader<'t, 'b> {
    fn child(self, node: NodeRef<'t>) -> Result<Reader<'t, 'b>, Fault> {
        let left = self.budget.get().checked_sub(1);
        self.budget.set(left.ok_or(Overrun)?);
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| fault("nested too deep"))?;
        Ok(Reader {
            node,
            budget: self.budget,
            depth,
        })
    }

    fn visit_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
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
            "not a number that JSON, and so Kubernetes, can carry",
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
    // 2^63 is the first float behind the range of i64.
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

    /// Nothing in here can be of a wrong type, so nothing is looked at.
    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

#[cfg(test)]
mod tests;
