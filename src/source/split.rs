//! Splits a stream into its documents by reading lines only.
//!
//! A `---` or `...` in the first column always ends a document, whatever it stands in (YAML 1.2,
//! 9.1.2), so no parsing is needed, and one broken document never hides the next.

use crate::yaml::Span;

/// Returns the bytes of each document. Markers, directives and the comments before them belong
/// to the document that they open; there is always at least one document.
pub(super) fn segments(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open = Segment::starting_at(0);
    let mut at = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    for end in ends.chain([text.len()]) {
        let line = text.get(at..end).unwrap_or_default();
        if open.content && !may_hold_marker(line) {
            at = end;
            continue;
        }
        let bare = line
            .trim_start_matches('\u{feff}')
            .trim_end_matches(['\n', '\r']);
        if is_marker(bare, "---") {
            if open.marked || open.content {
                found.push(Span::new(open.start, at));
                open = Segment::starting_at(at);
            }
            open.marked = true;
            open.content |= holds_content(bare.trim_start_matches('-'));
        } else if is_marker(bare, "...") {
            found.push(Span::new(open.start, end));
            open = Segment::starting_at(end);
        } else {
            open.content |= holds_content(bare) && !bare.starts_with('%');
        }
        at = end;
    }
    close(&mut found, &open, text.len());
    found
}

struct Segment {
    start: usize,
    /// A `---` has been seen.
    marked: bool,
    /// Something else than comments and directives has been seen.
    content: bool,
}

impl Segment {
    const fn starting_at(start: usize) -> Self {
        Self {
            start,
            marked: false,
            content: false,
        }
    }
}

/// Comments behind the last `...` are no document of their own.
fn close(found: &mut Vec<Span>, open: &Segment, end: usize) {
    match found.last_mut() {
        Some(last) if !open.marked && !open.content => last.end = end,
        _ => found.push(Span::new(open.start, end)),
    }
}

/// Most lines need no closer look.
fn may_hold_marker(line: &str) -> bool {
    line.starts_with(['-', '.', '\u{feff}'])
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn holds_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::segments;

    fn split(text: &str) -> Vec<&str> {
        segments(text)
            .into_iter()
            .map(|span| span.slice(text))
            .collect()
    }

    #[test]
    fn markers_open_documents() {
        assert_eq!(split("a: 1\n---\nb: 2\n"), ["a: 1\n", "---\nb: 2\n"]);
        assert_eq!(split("# c\n---\nb: 2\n"), ["# c\n---\nb: 2\n"]);
        assert_eq!(
            split("--- {a: 1}\n--- # x\nb"),
            ["--- {a: 1}\n", "--- # x\nb"]
        );
        assert_eq!(split("---\n---\na: 1\n"), ["---\n", "---\na: 1\n"]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn what_only_looks_like_a_marker_is_content() {
        assert_eq!(
            split("a: |\n  ---\n  x\n---x\n"),
            ["a: |\n  ---\n  x\n---x\n"]
        );
        assert_eq!(split("----\na"), ["----\na"]);
    }

    #[test]
    fn directives_stay_with_their_document() {
        assert_eq!(
            split("%YAML 1.1\n---\na: 1\n...\n%YAML 1.1\n---\nb: 1\n...\n# end\n"),
            [
                "%YAML 1.1\n---\na: 1\n...\n",
                "%YAML 1.1\n---\nb: 1\n...\n# end\n"
            ]
        );
    }

    #[test]
    fn windows_line_ends_and_marks_are_read() {
        assert_eq!(
            split("\u{feff}---\r\na: 1\r\n---\r\nb: 1"),
            ["\u{feff}---\r\na: 1\r\n", "---\r\nb: 1"]
        );
    }
}
