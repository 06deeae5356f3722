//! Documents that sigs.k8s.io/yaml does not convert to JSON.
//!
//! Source: sigs.k8s.io/yaml 1.6, `yaml.go` (`convertToJSONableObject`); go.yaml.in/yaml/v2 2.4, `decode.go`,
//! `resolve.go`, `scannerc.go`, `parserc.go`; `encoding/json`.

use super::scalar::{Scalar, resolve_plain};
use super::tree::{Entry, Kind, NodeRef, Style, Tree};

/// Returns why sigs.k8s.io/yaml refuses a document that libyaml reads, in a few words; `None` where it converts it.
#[must_use]
pub fn json_fault(tree: &Tree) -> Option<String> {
    let text = tree.segment().slice(tree.text());
    directive_fault(text)
        .or_else(|| tree.root().and_then(value_fault))
        .or_else(|| tree.all().find_map(node_fault))
}

/// Returns why go-yaml refuses the directives before the first document of a text: it knows YAML 1.1 only.
#[must_use]
pub fn directive_fault(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split('\n').map(str::trim_end);
    let head = lines.take_while(|line| line.is_empty() || line.starts_with(['%', '#']));
    head.filter_map(|line| line.strip_prefix('%'))
        .find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.next()) {
                (Some("YAML"), Some("1.1")) | (Some("TAG"), _) => None,
                _ => Some(format!("the directive `%{line}` is not known")),
            }
        })
}

/// Returns whether an alias refers to a value that contains it: no tool reads such a document.
#[must_use]
pub fn has_cycle(tree: &Tree) -> bool {
    tree.all()
        .any(|node| node.kind() == Kind::Alias && contains_itself(node))
}

fn node_fault(node: NodeRef<'_>) -> Option<String> {
    match node.kind() {
        Kind::Alias => contains_itself(node).then(|| {
            let alias = node.source();
            format!("`{alias}` refers to a value that contains it")
        }),
        Kind::Mapping => node
            .entries()
            .find_map(|entry| entry_fault(entry).or_else(|| value_fault(entry.value))),
        Kind::Sequence => node.items().find_map(value_fault),
        Kind::Scalar => escape_fault(node).or_else(|| tag_fault(node)),
    }
}

fn contains_itself(alias: NodeRef<'_>) -> bool {
    let target = alias.resolved();
    std::iter::successors(alias.parent(), |node| node.parent()).any(|above| above == target)
}

fn entry_fault(entry: Entry<'_>) -> Option<String> {
    if entry.key.is_merge_key() {
        return (!is_mergeable(entry.value))
            .then(|| "`<<` must be a mapping or a list of mappings".to_owned());
    }
    let key = entry.key.source();
    match entry.key.scalar() {
        None => Some("a key is a mapping or a list".to_owned()),
        Some(Scalar::Null) => Some("a key is null".to_owned()),
        Some(Scalar::UInt(_)) => Some(format!("the key `{key}` is too large a number")),
        Some(_) => None,
    }
}

/// An alias of a list of mappings is refused, unlike the list itself.
fn is_mergeable(value: NodeRef<'_>) -> bool {
    value.is_mapping() || (value.kind() == Kind::Sequence && value.items().all(NodeRef::is_mapping))
}

/// JSON has neither infinity nor NaN; keys become text.
fn value_fault(value: NodeRef<'_>) -> Option<String> {
    if value.kind() != Kind::Scalar {
        return None;
    }
    let Some(Scalar::Float(number)) = value.scalar() else {
        return None;
    };
    (!number.is_finite()).then(|| format!("the number `{}` is not finite", value.source()))
}

/// go-yaml 2 lacks one escape of YAML 1.2.
fn escape_fault(node: NodeRef<'_>) -> Option<String> {
    if node.style() != Style::DoubleQuoted {
        return None;
    }
    let mut bytes = node.source().bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.next() == Some(b'/') {
            return Some("`\\/` is not an escape in YAML 1.1".to_owned());
        }
    }
    None
}

/// The tag of a scalar must fit its text.
fn tag_fault(node: NodeRef<'_>) -> Option<String> {
    let (tag, text) = (node.core_tag()?, node.text()?);
    let scalar = resolve_plain(text);
    let fits = match tag {
        "int" => matches!(scalar, Scalar::Int(_) | Scalar::UInt(_)),
        "float" => matches!(scalar, Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_)),
        "bool" => matches!(scalar, Scalar::Bool(_)),
        "null" => scalar == Scalar::Null,
        "timestamp" => starts_with_date(text),
        "binary" => is_base64(text),
        _ => true,
    };
    (!fits).then(|| format!("`{text}` is not a `!!{tag}`"))
}

fn starts_with_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let digits = |part: Option<&str>, most: usize| {
        part.is_some_and(|part| {
            part.len() <= most && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let (year, month, rest) = (parts.next(), parts.next(), parts.next());
    digits(year, 4)
        && digits(month, 2)
        && rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_base64(text: &str) -> bool {
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding).unwrap_or_default();
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && padding <= 2 && digits.iter().all(is_digit)
}
