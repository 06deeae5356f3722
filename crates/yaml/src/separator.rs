//! Lines between documents that kubectl and kustomize reject.
//!
//! They split a file into parts at lines that start with `---`, and then parse each part by itself (`YAMLReader` in
//! k8s.io/apimachinery, `pkg/util/yaml/decoder.go`; `splitDocuments` in sigs.k8s.io/kustomize/kyaml,
//! `kio/byteio_reader.go`). A part cannot start with the end of a document or with a directive, and a separator cannot
//! have a value.

use memchr::memmem;

use super::marker::{is_marker, is_separator, starts_part};
use super::span::Span;
use super::syntax_error::SyntaxError;

/// Returns why kubectl and kustomize reject a file because of the lines before a document or within it; `None` if they
/// accept these.
#[must_use]
pub fn separator_fault(text: &str, segment: Span) -> Option<SyntaxError> {
    first_line_fault(text, segment).or_else(|| {
        let source = segment.slice(text);
        let lines = memmem::find_iter(source.as_bytes(), "\n---").map(|at| at + 1);
        let starts = std::iter::once(0).chain(lines);
        let fault = starts
            .filter(|start| segment.start + start > 0)
            .find(|start| {
                let line = line_at(source, *start);
                line.starts_with("---") && !is_separator(line)
            })?;
        Some(SyntaxError {
            offset: segment.start + fault,
            message: "kubectl and kustomize reject text behind `---` on the same line".to_owned(),
        })
    })
}

/// Returns the fault of the first line of a document that is neither blank nor a comment.
fn first_line_fault(text: &str, segment: Span) -> Option<SyntaxError> {
    let source = segment.slice(text);
    let mut start = 0;
    let line = loop {
        let line = line_at(source, start);
        // kubectl does not read directives behind the end of a document.
        let is_unread = || {
            let before = text.get(..segment.start + start);
            line.starts_with('%') && !before.is_some_and(is_first_of_part)
        };
        if !is_separator(line) && !is_trivia(line) && !is_unread() {
            break without_mark(line);
        }
        start += line.len() + 1;
        if start >= source.len() {
            return None;
        }
    };
    let offset = segment.start + start;
    let message = if is_marker(line.trim_end(), "...") {
        "kubectl and kustomize reject a `...` that does not end a document"
    } else if line.starts_with('%') {
        "kubectl and kustomize reject directives"
    } else {
        return None;
    };
    is_first_of_part(text.get(..offset)?).then(|| SyntaxError {
        offset,
        message: message.to_owned(),
    })
}

/// Returns whether only blank lines and comments are between the start of a part and the end of `before`.
fn is_first_of_part(before: &str) -> bool {
    let mut rest = before;
    while let Some(lines) = rest.strip_suffix('\n') {
        let start = lines.rfind('\n').map_or(0, |end| end + 1);
        let line = lines.get(start..).unwrap_or_default();
        rest = lines.get(..start).unwrap_or_default();
        if is_separator(line) {
            return starts_part(rest);
        }
        if !is_trivia(line) {
            return false;
        }
    }
    true
}

/// Returns the line at `start`, without its line break.
fn line_at(source: &str, start: usize) -> &str {
    let rest = source.get(start..).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default()
}

/// Returns whether a line is blank or a comment. The comment has no other line break, behind which kubectl reads content.
fn is_trivia(line: &str) -> bool {
    let line = without_mark(line).trim();
    line.is_empty()
        || line.starts_with('#') && !line.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

fn without_mark(line: &str) -> &str {
    line.trim_start_matches('\u{feff}')
}
