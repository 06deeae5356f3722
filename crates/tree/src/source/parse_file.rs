//! Splits and parses the text of files.
//!
//! Splits a stream into documents by lines.
//!
//! A `---` or `...` in the first column always ends a document, whatever contains it (YAML 1.2,
//! 9.1.2), so no parser is necessary, and a document with a syntax error never hides the next one. A comment may touch
//! the `---`, and consecutive JSON objects without a marker are also separate documents, as in kubectl.
//!
//! Parsed files of another state of the same tree, which a run uses instead of reading equal files again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_yaml::{Span, Tree, is_marker, is_touching_separator};
use serde::de::IgnoredAny;

use super::classify::{is_kustomization, mentions_manifest, read_document};
use super::limits::{FILE_VALUES, PARSED_VALUES, ValueCount};
use super::model::document::{Document, Fault, FileLimit};
use super::model::file::SourceFile;
use super::model::set::SourceSet;
use super::read::text_is_template;
use crate::filesystem::FileSystem;
use crate::git::ChangedPaths;

impl SourceFile {
    /// Creates a file, and splits and parses its text.
    #[must_use]
    pub fn new(path: Arc<str>, text: Arc<str>) -> Self {
        let explicit = true;
        let mut file = Self::unparsed(path, text, explicit);
        file.parse();
        file
    }

    pub(in crate::source) fn parse(&mut self) {
        self.parse_within(&ValueCount::new(PARSED_VALUES));
    }

    /// Splits and parses the text, and adds its values to `count`. Sets the fault of the file if it has too many.
    pub(in crate::source) fn parse_within(&mut self, count: &ValueCount) {
        if count.is_exceeded() {
            // None of the files is kept: memory must not grow with their number.
            return self.exceed(FileLimit::AllValues);
        }
        match parsed(self) {
            Some((documents, values)) if count.add(values) => self.documents = documents,
            Some(_) => self.exceed(FileLimit::AllValues),
            None => self.exceed(FileLimit::Values),
        }
    }

    /// Drops the text and the documents of the file, which exceeds a limit.
    pub fn exceed(&mut self, limit: FileLimit) {
        self.fault = Some(self.too_large(self.text.as_bytes(), limit));
        self.documents = Vec::new();
        self.text = Arc::from("");
    }

    /// Returns the fault of the file with this text, which exceeds a limit.
    pub(in crate::source) fn too_large(&self, text: &[u8], limit: FileLimit) -> Fault {
        Fault::TooLarge {
            limit,
            kubernetes: mentions_manifest(text) || is_kustomization(&self.path),
        }
    }

    /// Returns this file with another text that contains the same objects. Keeps which documents are patches, and the
    /// origins of objects.
    #[must_use]
    pub fn with_text(&self, text: Arc<str>) -> Self {
        let mut file = self.replace_text(text);
        let patch = self.documents.iter().any(|document| document.patch);
        file.parse();
        file.set_patch(patch);
        file
    }
}

/// Parses the documents of a file, and returns them with the number of their values; `None` if there are too many.
fn parsed(file: &SourceFile) -> Option<(Vec<Document>, usize)> {
    let mut left = FILE_VALUES;
    let mut documents = Vec::new();
    for (index, segment) in segments(&file.text).into_iter().enumerate() {
        let document = read_document(file, index, segment, left);
        let values = document.any_tree().map_or(0, Tree::node_count);
        left = left.checked_sub(values + 1)?;
        if document.is_over_limit() {
            return None;
        }
        documents.push(document);
    }
    Some((documents, FILE_VALUES - left))
}

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

/// Parsed files of another state of the same tree, by displayed path.
#[derive(Debug)]
pub struct SharedFiles {
    files: HashMap<Arc<str>, SharedFile>,
    changed: ChangedPaths,
}

/// The parts of a file that depend only on its content and its path.
#[derive(Debug)]
struct SharedFile {
    real: PathBuf,
    explicit: bool,
    chart_template: bool,
    text: Arc<str>,
    documents: Vec<Document>,
}

impl SharedFiles {
    /// Collects the files of a set that were read from disk. Files at paths that may differ are not used.
    #[must_use]
    pub fn new(set: &SourceSet, changed: ChangedPaths) -> Self {
        let is_equal = |real: &Path| !changed.contains(real);
        let files = set.files.iter().filter_map(|file| {
            let real = file.resolved_location().filter(|real| is_equal(real))?;
            Some((Arc::clone(&file.path), SharedFile::of(file, real)?))
        });
        Self {
            files: files.collect(),
            changed,
        }
    }

    /// Sets the text and the documents of a file whose other fields are set. Returns `false` if there is no
    /// equal file. Its values are not counted again.
    pub(in crate::source) fn fill(&self, file: &mut SourceFile, files: &FileSystem) -> bool {
        let (Some(known), Some(real)) = (self.files.get(&file.path), &file.real) else {
            return false;
        };
        let chart_template = text_is_template(&known.text, file.disk_path.as_deref(), files);
        let is_equal = known.real == *real
            && !self.changed.contains(real)
            && known.explicit == file.explicit
            && known.chart_template == chart_template;
        if is_equal {
            file.chart_template = chart_template;
            file.text = Arc::clone(&known.text);
            file.documents.clone_from(&known.documents);
        }
        is_equal
    }
}

impl SharedFile {
    /// Returns the shared parts of a file; `None` if it has a fault, which may be due to the other files.
    fn of(file: &SourceFile, real: &Path) -> Option<Self> {
        let mut documents = file.documents.clone();
        for document in &mut documents {
            // The kustomizations of each state determine which files are patches.
            document.patch = false;
        }
        file.fault.is_none().then(|| Self {
            real: real.to_path_buf(),
            explicit: file.explicit,
            chart_template: file.chart_template,
            text: Arc::clone(&file.text),
            documents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_of_all_files_are_not_kept() {
        let count = ValueCount::new(8);
        let fault = |text: &str| {
            let mut file = SourceFile::unparsed(Arc::from("a.yaml"), Arc::from(text), true);
            file.parse_within(&count);
            assert_eq!(file.documents.is_empty(), file.fault.is_some());
            file.fault
        };
        let kubernetes = true;
        let limit = FileLimit::AllValues;
        assert_eq!(fault("a: b\n"), None);
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: b}\n";
        assert_eq!(fault(pod), Some(Fault::TooLarge { limit, kubernetes }));
        let kubernetes = false;
        assert_eq!(fault("a: b\n"), Some(Fault::TooLarge { limit, kubernetes }));
    }

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
