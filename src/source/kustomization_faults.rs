//! Fields of a kustomization that kustomize does not decode: unknown names, and values of another type.
//!
//! Source: kustomize 5.8.2, `Kustomization.Unmarshal` in `api/types/kustomization.go`: the decoder rejects unknown fields
//! at every level, and values of another type.

use crate::yaml::{Entry, NodeRef, Span};

use super::kustomization_fields::{Field, Fields, KUSTOMIZATION, find};

/// A field that kustomize does not decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// The key, or the value of another type.
    pub span: Span,
    /// Whether the field is unknown; otherwise its value has another type.
    pub is_unknown: bool,
    /// The name of the field.
    pub name: String,
    /// The type of the field, such as "a list of strings"; for an unknown field, the names of the known ones.
    pub expected: Vec<&'static str>,
}

/// Fields of the top level that are not lists although they contain other fields.
const OBJECTS: [&str; 4] = ["generatorOptions", "helmGlobals", "metadata", "sortOptions"];

/// Mappings whose values are strings.
const TEXTS: [&str; 2] = ["commonAnnotations", "commonLabels"];

/// Fields whose content is not compared with the known fields: it has many, which differ from release to release.
const OPEN: [&str; 4] = [
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "metadata",
];

/// The maximum number of fields below the top level that are compared.
const STEPS: usize = 50_000;

/// Returns the fields of a kustomization that kustomize does not decode, in their order.
#[must_use]
pub fn field_faults(root: NodeRef<'_>) -> Vec<FieldFault> {
    let mut found = Vec::new();
    let mut steps = STEPS;
    for entry in entries(root) {
        let key = entry.key.text().unwrap_or_default();
        let Some((name, field)) = find(KUSTOMIZATION, key) else {
            found.push(unknown(&entry, KUSTOMIZATION));
            continue;
        };
        let wrong = wrong_value(&entry, name, field);
        if let Some((span, expected)) = wrong {
            found.push(FieldFault {
                span,
                is_unknown: false,
                name: name.to_owned(),
                expected: vec![expected],
            });
        } else if let Field::Struct(fields) = field
            && !OPEN.contains(&name)
        {
            unknown_below(entry.value, fields, &mut steps, &mut found);
        }
    }
    found
}

fn entries<'t>(node: NodeRef<'t>) -> impl Iterator<Item = Entry<'t>> {
    node.entries().filter(|entry| !entry.key.is_merge_key())
}

/// Adds the unknown fields of a struct, or of the structs of a list. The types of fields limit the depth, and `steps` the
/// number of nodes: aliases can repeat them.
fn unknown_below(
    node: NodeRef<'_>,
    fields: Fields,
    steps: &mut usize,
    found: &mut Vec<FieldFault>,
) {
    for node in std::iter::once(node).chain(node.items()) {
        for entry in entries(node) {
            let Some(left) = steps.checked_sub(1) else {
                return;
            };
            *steps = left;
            match find(fields, entry.key.text().unwrap_or_default()) {
                Some((_, Field::Struct(below))) => unknown_below(entry.value, below, steps, found),
                Some(_) => {}
                None => found.push(unknown(&entry, fields)),
            }
        }
    }
}

fn unknown(entry: &Entry<'_>, fields: Fields) -> FieldFault {
    FieldFault {
        span: entry.key.span(),
        is_unknown: true,
        name: entry.key.text().unwrap_or_default().to_owned(),
        expected: fields.iter().map(|(name, _)| *name).collect(),
    }
}

/// Returns the place of a value of another type than that of its field, and the type of the field.
fn wrong_value(entry: &Entry<'_>, name: &str, field: Field) -> Option<(Span, &'static str)> {
    let value = entry.value;
    if value.is_null() {
        return None;
    }
    let is_text = |node: NodeRef<'_>| node.is_null() || node.as_str().is_some();
    let (is_right, expected) = match field {
        Field::Text => (is_text(value), "a string"),
        Field::Map if TEXTS.contains(&name) => {
            let mut values = value.entries().map(|entry| entry.value);
            (
                value.is_mapping() && values.all(is_text),
                "a mapping of strings",
            )
        }
        Field::Map => (value.is_mapping(), "a mapping"),
        Field::Struct(_) if OBJECTS.contains(&name) => (value.is_mapping(), "a mapping"),
        Field::Strings => (value.is_sequence(), "a list of strings"),
        Field::Struct(_) => (value.is_sequence(), "a list of mappings"),
    };
    if !is_right {
        return Some((value.span(), expected));
    }
    let is_wrong = |item: &NodeRef<'_>| match field {
        Field::Strings => !is_text(*item),
        Field::Struct(_) => !item.is_mapping() && !item.is_null(),
        Field::Text | Field::Map => false,
    };
    let wrong = value.items().find(is_wrong)?;
    Some((wrong.span(), expected))
}
