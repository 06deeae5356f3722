//! Documents that sigs.k8s.io/yaml does not convert to JSON.
//!
//! Source: sigs.k8s.io/yaml 1.6, `yaml.go` (`convertToJSONableObject`); go.yaml.in/yaml/v2 2.4, `decode.go`,
//! `resolve.go`, `scannerc.go`, `parserc.go`; `encoding/json`.

use super::scalar::{Scalar, resolve_plain};
use super::tree::{Entry, Kind, NodeRef, Style, Tree};

/// Returns why sigs.k8s.io/yaml rejects a document that libyaml reads; `None` if it converts the document.
#[must_use]
pub fn json_fault(tree: &Tree) -> Option<String> {
    let text = tree.segment().slice(tree.text());
    directive_fault(text)
        .or_else(|| tree.root().and_then(value_fault))
        .or_else(|| tree.all().find_map(node_fault))
}

/// Returns why go-yaml, which supports only YAML 1.1, rejects a directive before the first document of a text; `None`
/// if it accepts them.
#[must_use]
pub fn directive_fault(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split('\n')
        .map(str::trim_end)
        .take_while(|line| line.is_empty() || line.starts_with(['%', '#']))
        .filter_map(|line| line.strip_prefix('%'))
        .find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.next()) {
                (Some("YAML"), Some("1.1")) | (Some("TAG"), _) => None,
                _ => Some(format!("the directive `%{line}` is not known")),
            }
        })
}

/// Returns whether an alias refers to a value that contains it. All tools reject such a document.
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

/// Returns whether `value` can be the value of a merge key. A list of mappings can, but an alias of one cannot.
fn is_mergeable(value: NodeRef<'_>) -> bool {
    value.is_mapping() || (value.kind() == Kind::Sequence && value.items().all(NodeRef::is_mapping))
}

/// Returns why JSON cannot represent a value: it has neither infinity nor NaN. Keys are not affected, because they
/// become strings.
fn value_fault(value: NodeRef<'_>) -> Option<String> {
    if value.kind() != Kind::Scalar {
        return None;
    }
    let Some(Scalar::Float(number)) = value.scalar() else {
        return None;
    };
    (!number.is_finite()).then(|| format!("the number `{}` is not finite", value.source()))
}

/// Returns why go-yaml 2 rejects an escape: it does not support `\/` of YAML 1.2.
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

/// Returns why the text of a scalar does not match its tag.
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
