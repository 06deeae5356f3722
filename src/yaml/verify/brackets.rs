//! A limit on what libyaml is given to read: for each token it goes through all brackets that are open.

/// Opening brackets of a text. At this depth a megabyte takes seconds; go-yaml refuses more than 10,000 levels
/// (gopkg.in/yaml.v2 2.4.0, scannerc.go, `max_flow_level`), and yaml-serde more than 128.
const LIMIT: usize = 4_000;

/// Returns whether a text has more opening brackets than libyaml is given to read, wherever they are. A tree that our
/// parser built is not as deep, so this is for texts that it refuses, or that libyaml may read differently.
#[must_use]
pub fn has_too_many_brackets(text: &str) -> bool {
    memchr::memchr2_iter(b'[', b'{', text.as_bytes())
        .nth(LIMIT)
        .is_some()
}

/// Refuses such a text.
pub(super) fn check(text: &str) -> Result<(), String> {
    if has_too_many_brackets(text) {
        return Err(format!("has more than {LIMIT} opening brackets"));
    }
    Ok(())
}
