//! Splits a stream into documents by lines.
//!
//! A `---` or `...` in the first column always ends a document, whatever contains it (YAML 1.2,
//! 9.1.2), so no parser is necessary, and a document with a syntax error never hides the next one. A comment may touch
//! the `---`, and consecutive JSON objects without a marker are also separate documents, as in kubectl.

use meshprobe_yaml::{Span, is_marker, is_touching_separator};
use serde::de::IgnoredAny;

/// Returns the bytes of each document. Markers, directives and the comments before them belong to
/// the document that they start. There is always at least one document.
pub fn segments(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open = Segment::starting_at(0);
    let mut at = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    for end in ends.chain([text.len()]) {
        let line = text.get(at..end).unwrap_or_default();
        if open.content && !may_be_marker(line) {
            at = end;
            continue;
        }
        // Within a document, kubectl does not accept a byte order mark, so a `---` after it is not a marker.
        let marks: &[char] = if open.content { &[] } else { &['\u{feff}'] };
        let bare = line
            .trim_start_matches(marks)
            .trim_end_matches(['\n', '\r']);
        let touches = bare.starts_with("---")
            && is_touching_separator(text.get(..at).unwrap_or_default(), bare);
        if is_marker(bare, "---") || touches {
            if open.marked || open.content || touches {
                found.push(Span::new(open.start, at));
                open = Segment::starting_at(at);
            }
            open.marked = true;
            open.content |= has_content(bare.trim_start_matches('-'));
        } else if is_marker(bare, "...") {
            found.push(Span::new(open.start, end));
            open = Segment::starting_at(end);
        } else {
            open.content |= has_content(bare) && !bare.starts_with('%');
        }
        at = end;
    }
    close(&mut found, &open, text.len());
    split_json(text, found)
}

/// Splits documents that consist of several JSON objects.
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

/// Returns the offset of the `{` with which a document starts, if it does.
fn first_object(text: &str, document: Span) -> Option<usize> {
    let source = document.slice(text);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let source = source.trim_start_matches([' ', '\t', '\r', '\n']);
    source
        .starts_with('{')
        .then_some(document.end - source.len())
}

/// Returns the end of the first of several JSON objects, including the line break after it; `None`
/// for a single object, or other content.
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
    /// Whether it has a `---` so far.
    marked: bool,
    /// Whether it has content other than comments and directives so far.
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

/// Adds the last document. Comments after the last `...` belong to the previous document.
fn close(found: &mut Vec<Span>, open: &Segment, end: usize) {
    match found.last_mut() {
        Some(last) if !open.marked && !open.content => last.end = end,
        _ => found.push(Span::new(open.start, end)),
    }
}

/// Returns whether a line may be a marker. A quick check, because most lines are not.
fn may_be_marker(line: &str) -> bool {
    line.starts_with(['-', '.', '\u{feff}'])
}

fn has_content(line: &str) -> bool {
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
    fn text_that_only_resembles_a_marker_is_content() {
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
    fn windows_line_endings_and_byte_order_marks_are_accepted() {
        assert_eq!(
            split("\u{feff}---\r\na: 1\r\n---\r\nb: 1"),
            ["\u{feff}---\r\na: 1\r\n", "---\r\nb: 1"]
        );
    }
}
