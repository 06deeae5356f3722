//! Limit on the brackets of texts that libyaml parses. For each token, libyaml iterates over all open brackets.

use crate::yaml::tree::{Kind, Style, Tree};

/// Limit on the opening brackets of a text. At this depth a megabyte takes seconds. go-yaml rejects more than 10,000
/// levels (gopkg.in/yaml.v2 2.4.0, scannerc.go, `max_flow_level`), and yaml-serde rejects more than 128.
const LIMIT: usize = 4_000;

/// Returns whether a text has more opening brackets than the limit, including those in strings and comments. The trees
/// of our parser are not as deep, so this check is for texts that our parser rejects, or that libyaml may read
/// differently.
#[must_use]
pub fn has_too_many_brackets(text: &str) -> bool {
    memchr::memchr2_iter(b'[', b'{', text.as_bytes())
        .nth(LIMIT)
        .is_some()
}

/// Rejects a document with too many opening brackets. Those in quoted and block scalars do not count, unless the text
/// contains a character with which libyaml may end such a scalar earlier.
///
/// # Errors
/// A message for the user, without its subject.
pub(super) fn check_document(tree: &Tree, text: &str) -> Result<(), String> {
    const LINE_BREAKS: [char; 4] = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
    if !has_too_many_brackets(text) || text.contains(LINE_BREAKS) {
        return check(text);
    }
    let count = |text: &str| memchr::memchr2_iter(b'[', b'{', text.as_bytes()).count();
    let in_scalars: usize = tree
        .all()
        .filter(|node| node.kind() == Kind::Scalar && node.style() != Style::Plain)
        .map(|node| count(node.source()))
        .sum();
    match count(text).saturating_sub(in_scalars) > LIMIT {
        true => check(text),
        false => Ok(()),
    }
}

/// Rejects a text with too many opening brackets.
///
/// # Errors
/// A message for the user, without its subject.
pub(super) fn check(text: &str) -> Result<(), String> {
    if has_too_many_brackets(text) {
        return Err(format!("has more than {LIMIT} opening brackets"));
    }
    Ok(())
}
