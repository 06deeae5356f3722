//! The lines that end a document.

/// Returns whether a line, without its line break, is the marker `---` or `...` (YAML 1.2, 9.1.2). A comment or a value
/// may follow on the same line.
#[must_use]
pub fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}
