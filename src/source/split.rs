//! Splits a stream into its documents by reading lines only.
//!
//! A `---` or `...` in the first column always ends a document, whatever it stands in (YAML 1.2,
//! 9.1.2), so no parsing is needed, and one broken document never hides the next. JSON objects that
//! follow each other without a marker are documents, too, as kubectl reads them.

use serde::de::IgnoredAny;

use crate::yaml::{Span, is_marker};

/// Returns the bytes of each document. Markers, directives and the comments before them belong
/// to the document that they open; there is always at least one document.
pub(crate) fn segments(text: &str) -> Vec<Span> {
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
        // Within a document the mark is not accepted, so `---` behind it is not a marker for kubectl.
        let marks: &[char] = if open.content { &[] } else { &['\u{feff}'] };
        let bare = line
            .trim_start_matches(marks)
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
    split_json(text, found)
}

/// Splits the documents that are a stream of JSON objects.
fn split_json(text: &str, documents: Vec<Span>) -> Vec<Span> {
    let may_be_json = |span: &Span| first_object(text, *span).is_some();
    if !documents.iter().any(may_be_json) {
        return documents;
    }
    let mut found = Vec::with_capacity(documents.len());
    for document in documents {
        let mut rest = document;
        while let Some(end) = end_of_first_object(text, rest) {
            found.push(Span::new(rest.start, end));
            rest.start = end;
        }
        found.push(rest);
    }
    found
}

/// Returns where the `{` is that a document starts with.
fn first_object(text: &str, document: Span) -> Option<usize> {
    let source = document.slice(text);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let source = source.trim_start_matches([' ', '\t', '\r', '\n']);
    source
        .starts_with('{')
        .then_some(document.end - source.len())
}

/// Returns where the first of several JSON objects ends, the line break behind it included; `None`
/// where there is one object, or something else.
fn end_of_first_object(text: &str, document: Span) -> Option<usize> {
    let start = first_object(text, document)?;
    let source = Span::new(start, document.end).slice(text);
    let mut values = serde_json::Deserializer::from_str(source).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let behind = source.get(values.byte_offset()..)?;
    let next = behind.trim_start_matches([' ', '\t', '\r', '\n']);
    if !next.starts_with('{') {
        return None;
    }
    let line = behind.find('\n').map_or(0, |at| at + 1);
    let between = behind.len() - next.len();
    Some(document.end - behind.len() + line.min(between))
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
    fn json_objects_that_follow_each_other_are_documents() {
        assert_eq!(split("{\"a\": 1}\n"), ["{\"a\": 1}\n"]);
        assert_eq!(
            split("{\"a\": \"}{\"}{\"b\": 2}\n{\n}\n---\nc: 3\n"),
            ["{\"a\": \"}{\"}", "{\"b\": 2}\n", "{\n}\n", "---\nc: 3\n"]
        );
        assert_eq!(
            split("\u{feff} {}\r\n\r\n {}{x\n"),
            ["\u{feff} {}\r\n", "\r\n {}", "{x\n"]
        );
        assert_eq!(split("{a: b}\n{c: d}\n"), ["{a: b}\n{c: d}\n"]);
        assert_eq!(split("{}\n# c\n{}\n"), ["{}\n# c\n{}\n"]);
    }

    #[test]
    fn windows_line_ends_and_marks_are_read() {
        assert_eq!(
            split("\u{feff}---\r\na: 1\r\n---\r\nb: 1"),
            ["\u{feff}---\r\na: 1\r\n", "---\r\nb: 1"]
        );
    }
}
