//! Limit on the brackets of texts that libyaml parses. For each token, libyaml iterates over all open brackets.

/// Limit on the opening brackets of a text. At this depth a megabyte takes seconds. go-yaml rejects more than 10,000
/// levels (gopkg.in/yaml.v2 2.4.0, scannerc.go, `max_flow_level`), and yaml-serde rejects more than 128.
const LIMIT: usize = 4_000;

/// Limit on the opening brackets of a short text such as the value of an annotation. There can be many of them, and none of
/// these is nested deeper. yaml-serde rejects more levels.
const EMBEDDED_LIMIT: usize = super::limits::DEPTH;

/// Characters with which libyaml may end a scalar or a comment earlier than our parser.
const LINE_BREAKS: [char; 4] = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];

/// Returns whether a text has more opening brackets than the limit, including those in strings and comments. The trees
/// of our parser have at most 255 levels, so this check is for texts that our parser rejects, or that libyaml may read
/// differently.
#[must_use]
pub fn has_too_many_brackets(text: &str) -> bool {
    has_more_brackets(text, LIMIT)
}

/// Rejects an embedded text with too many opening brackets, unless libyaml reads the same brackets as our parser.
/// `is_parsed` is whether our parser accepts the text.
///
/// # Errors
/// A message for the user, without its subject.
pub fn check_brackets(text: &str, is_parsed: bool) -> Result<(), String> {
    if is_parsed && !text.contains(LINE_BREAKS) {
        return Ok(());
    }
    match has_more_brackets(text, EMBEDDED_LIMIT) {
        true => Err(format!("has more than {EMBEDDED_LIMIT} opening brackets")),
        false => Ok(()),
    }
}

fn has_more_brackets(text: &str, limit: usize) -> bool {
    memchr::memchr2_iter(b'[', b'{', text.as_bytes())
        .nth(limit)
        .is_some()
}
