//! Finds the suppressions that are written in the files.

use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::{memchr, memmem};

use crate::finding::{Label, ObjectRef, SuppressedBy};
use crate::kube::{Object, Workload};
use crate::source::{Document, SourceFile, SourceSet};
use crate::yaml::{self, Entry, NodeRef, Span, Style, Tree};

use super::directive::{Said, of_annotation, of_comment};

/// The annotation that silences findings about its object.
pub(super) const ANNOTATION: &str = "meshprobe.dev/ignore";

/// One suppression in a file.
#[derive(Clone, Debug)]
pub(super) struct Directive {
    pub(super) by: SuppressedBy,
    /// The comment, or the value of the annotation.
    pub(super) place: Label,
    pub(super) line: usize,
    pub(super) document: usize,
    pub(super) object: Option<ObjectRef>,
    /// `None` where it is not understood.
    pub(super) said: Option<Said>,
    pub(super) covers: Covers,
    /// The lines that a comment fills alone, with their break.
    pub(super) whole_line: Option<Span>,
}

/// Where findings are silenced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Covers {
    /// On this line.
    Line(usize),
    /// Within these bytes.
    Bytes(Span),
}

/// Lists the suppressions of all targets.
pub(super) fn collect(set: &SourceSet) -> Vec<Directive> {
    let mut found = Vec::new();
    for file in set.targets().filter(|file| may_hold_any(&file.text)) {
        for document in &file.documents {
            let Some(tree) = document.tree() else {
                continue;
            };
            found.extend(comments(file, document, tree));
            for object in Object::all_in(document) {
                found.extend(annotations(file, &object));
            }
        }
    }
    found
}

/// A suppression bears our name, which only an escape can write in other letters. Most files hold
/// none.
fn may_hold_any(text: &str) -> bool {
    let text = text.as_bytes();
    memmem::find(text, b"meshprobe").is_some() || memchr(b'\\', text).is_some()
}

fn comments(file: &SourceFile, document: &Document, tree: &Tree) -> Vec<Directive> {
    if !document.segment.slice(&file.text).contains("meshprobe:") {
        return Vec::new();
    }
    let comments = yaml::comments(tree).into_iter();
    // Comments above each other share the line below them, which is looked for once.
    let mut next = 0;
    let read = comments.filter_map(|span| {
        let said = of_comment(span.slice(&file.text))?.ok();
        let line = file.line_of(span);
        let whole_line = whole_line(file, line);
        let covered = if whole_line.is_some() {
            if next <= line {
                next = below(file, line);
            }
            next
        } else {
            line
        };
        Some(Directive {
            by: SuppressedBy::Comment,
            place: label(&file.path, span),
            line,
            document: document.index,
            object: None,
            said,
            covers: Covers::Line(covered),
            whole_line,
        })
    });
    read.collect()
}

/// The bytes of a line that holds nothing but a comment, with its line break.
fn whole_line(file: &SourceFile, line: usize) -> Option<Span> {
    let span = file.lines().line(&file.text, line)?;
    let text = span.slice(&file.text);
    let blank = text.len() - text.trim_start_matches('\u{feff}').len();
    let end = file.lines().line(&file.text, line + 1);
    let is_comment = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('#');
    is_comment.then(|| Span::new(span.start + blank, end.map_or(span.end, |next| next.start)))
}

/// The first line below that is no comment: suppressions may stand above each other.
fn below(file: &SourceFile, mut line: usize) -> usize {
    loop {
        line += 1;
        if whole_line(file, line).is_none() {
            return line;
        }
    }
}

fn annotations(file: &SourceFile, object: &Object<'_>) -> Vec<Directive> {
    let mut found = Vec::new();
    for entry in entries(object, Workload::from_object(object).as_ref()) {
        let value = entry.value;
        for (index, line) in value.text().unwrap_or_default().lines().enumerate() {
            let Some(said) = of_annotation(line) else {
                continue;
            };
            let line = file.line_of(value.span()) + lines_before(value, index);
            let own =
                (value.style() == Style::Literal).then(|| file.lines().line(&file.text, line));
            let span = own
                .flatten()
                .map_or_else(|| first_line(value), |own| trimmed(file, own));
            found.push(Directive {
                by: SuppressedBy::Annotation,
                place: label(&file.path, span),
                line,
                document: object.document.index,
                object: Some(object.reference()),
                said: Some(said),
                covers: Covers::Bytes(object.node.span()),
                whole_line: None,
            });
        }
    }
    found
}

/// The annotation on an object, and on its pod template.
pub(super) fn entries<'t>(object: &Object<'t>, workload: Option<&Workload<'t>>) -> Vec<Entry<'t>> {
    let on_template = workload.and_then(|workload| workload.template.annotation(ANNOTATION));
    let both = object.annotation(ANNOTATION).into_iter().chain(on_template);
    // A Pod is its own template.
    let mut seen = BTreeSet::new();
    both.filter(|entry| seen.insert(entry.value.span().start))
        .collect()
}

/// How many lines of the file stand before the line `index` of a value.
pub(super) const fn lines_before(value: NodeRef<'_>, index: usize) -> usize {
    match value.style() {
        Style::Literal => index + 1,
        _ => 0,
    }
}

/// One line to point at.
fn first_line(value: NodeRef<'_>) -> Span {
    let span = value.span();
    let first = value.source().lines().next().unwrap_or_default();
    Span::new(span.start, span.start + first.len())
}

fn trimmed(file: &SourceFile, line: Span) -> Span {
    let text = line.slice(&file.text);
    let start = line.start + text.len() - text.trim_start().len();
    Span::new(start, start + text.trim().len())
}

fn label(path: &Arc<str>, span: Span) -> Label {
    Label {
        path: Arc::clone(path),
        span,
        message: String::new(),
    }
}
