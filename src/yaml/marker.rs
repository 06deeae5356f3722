//! The lines that end a document.

/// Returns whether a line, without its line break, is the marker `---` or `...` (YAML 1.2, 9.1.2). A comment or a value
/// may follow on the same line.
#[must_use]
pub fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns where the content of a document starts that has a byte order mark; 0 for one without.
///
/// The mark is at the start of the document, or behind the line with `---`, where `cat` puts the mark of the second
/// file. kubectl and kustomize accept both.
pub(super) fn byte_order_mark_end(source: &str) -> usize {
    let mut rest = without_mark(source);
    let first = source.len() - rest.len();
    while let Some((line, next)) = rest.split_once('\n') {
        let line = line.trim_end_matches('\r');
        let marker = if is_marker(line, "---") { "---" } else { "" };
        let content = line.strip_prefix(marker).unwrap_or(line).trim_start();
        if !content.is_empty() && !content.starts_with('#') {
            break;
        }
        if !marker.is_empty() {
            let content = without_mark(next);
            return if content.len() < next.len() {
                source.len() - content.len()
            } else {
                first
            };
        }
        rest = next;
    }
    first
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the content of a document behind its byte order mark ([`byte_order_mark_end`]).
pub(super) fn without_byte_order_mark(source: &str) -> &str {
    source.get(byte_order_mark_end(source)..).unwrap_or(source)
}
