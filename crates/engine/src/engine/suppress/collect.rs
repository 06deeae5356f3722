//! Finds and parses the suppressions in the files.

use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::{memchr, memmem};
use meshprobe_mesh::finding::{Label, ObjectRef, SuppressedBy};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_tree::source::{Document, SourceFile, SourceSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Entry, NodeRef, Span, Style, Tree};

/// The annotation that suppresses findings about its object.
pub(super) const ANNOTATION: &str = "meshprobe.dev/ignore";

/// One suppression in a file.
#[derive(Clone, Debug)]
pub(super) struct Directive {
    pub(super) by: SuppressedBy,
    /// The location of the comment, or of the value of the annotation.
    pub(super) place: Label,
    pub(super) line: usize,
    pub(super) document: usize,
    pub(super) object: Option<ObjectRef>,
    /// The parsed suppression; `None` if it is invalid.
    pub(super) parsed: Option<ParsedSuppression>,
    pub(super) range: SuppressedRange,
    /// The whole line of a comment, with its line break; `None` if the line also contains YAML.
    pub(super) whole_line: Option<Span>,
}

/// The part of a file in which a suppression suppresses findings.
#[derive(Clone, Copy, Debug)]
pub(super) enum SuppressedRange {
    /// This line.
    Line(usize),
    /// These bytes.
    Bytes(Span),
}

/// Returns the suppressions of all files: a finding about an object that a given file deploys may be in another file.
pub(super) fn collect(set: &SourceSet) -> Vec<Directive> {
    let mut found = Vec::new();
    for file in set
        .files
        .iter()
        .filter(|file| may_contain_suppressions(&file.text))
    {
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

/// Returns whether a text may contain suppressions, which most files do not. A suppression contains the word `meshprobe`,
/// which may be written with escapes.
fn may_contain_suppressions(text: &str) -> bool {
    let text = text.as_bytes();
    memmem::find(text, b"meshprobe").is_some() || memchr(b'\\', text).is_some()
}

fn comments(file: &SourceFile, document: &Document, tree: &Tree) -> Vec<Directive> {
    if !document.segment.slice(&file.text).contains("meshprobe:") {
        return Vec::new();
    }
    // Comments on successive lines cover the same line below them, which is searched once.
    let mut next = 0;
    let directive = |span: Span| {
        let parsed = of_comment(span.slice(&file.text))?.ok();
        let line = file.line_of(span);
        let whole_line = whole_line(file, line);
        let covered = if whole_line.is_some() {
            if next <= line {
                next = line_below_comments(file, line);
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
            parsed,
            range: SuppressedRange::Line(covered),
            whole_line,
        })
    };
    yaml::comments(tree)
        .into_iter()
        .filter_map(directive)
        .collect()
}

/// Returns the bytes of a line, with its line break, if the line contains only a comment.
fn whole_line(file: &SourceFile, line: usize) -> Option<Span> {
    let span = file.lines().line(&file.text, line)?;
    let text = span.slice(&file.text);
    let mark_length = text.len() - text.trim_start_matches('\u{feff}').len();
    let next = file.lines().line(&file.text, line + 1);
    let is_comment = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('#');
    is_comment.then(|| {
        let end = next.map_or(span.end, |next| next.start);
        Span::new(span.start + mark_length, end)
    })
}

/// Returns the first line below `line` that is not a comment: several lines of suppressions cover the same line.
fn line_below_comments(file: &SourceFile, mut line: usize) -> usize {
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
            let Some(parsed) = of_annotation(line) else {
                continue;
            };
            let line = file.line_of(value.span()) + lines_before(value, index);
            let literal_line = (value.style() == Style::Literal)
                .then(|| file.lines().line(&file.text, line))
                .flatten();
            let span = literal_line.map_or_else(|| first_line(value), |line| trimmed(file, line));
            found.push(Directive {
                by: SuppressedBy::Annotation,
                place: label(&file.path, span),
                line,
                document: object.document.index,
                object: Some(object.reference()),
                parsed: Some(parsed),
                range: SuppressedRange::Bytes(object.node.span()),
                whole_line: None,
            });
        }
    }
    found
}

/// Returns the annotations of an object and of its pod template.
pub(super) fn entries<'t>(object: &Object<'t>, workload: Option<&Workload<'t>>) -> Vec<Entry<'t>> {
    let on_template = workload.and_then(|workload| workload.template.annotation(ANNOTATION));
    // A Pod is its own template.
    let mut seen = BTreeSet::new();
    object
        .annotation(ANNOTATION)
        .into_iter()
        .chain(on_template)
        .filter(|entry| seen.insert(entry.value.id()))
        .collect()
}

/// Returns the number of lines from the start of a value to its line `index`.
pub(super) const fn lines_before(value: NodeRef<'_>, index: usize) -> usize {
    match value.style() {
        Style::Literal => index + 1,
        _ => 0,
    }
}

/// Returns the span of the first line of a value.
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

/// The start of every suppression in a comment.
const MARK: &str = "meshprobe:";

/// A rule in a suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) rule: String,
    /// The container whose findings are suppressed; `None` for all findings.
    pub(super) container: Option<String>,
}

/// A parsed suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedSuppression {
    pub(super) names: Vec<Name>,
    /// The reason; empty if it is missing.
    pub(super) reason: String,
}

/// Parses a comment, including `#`. Returns `None` for a comment that does not start with `meshprobe:`.
///
/// # Errors
/// The comment starts with `meshprobe:`, but is not a valid suppression.
pub(super) fn of_comment(comment: &str) -> Option<Result<ParsedSuppression, ()>> {
    let text = comment.trim_start_matches('#').trim().strip_prefix(MARK)?;
    Some(parse(text.trim()).ok_or(()))
}

fn parse(text: &str) -> Option<ParsedSuppression> {
    let list = text
        .strip_prefix("ignore")?
        .trim_start()
        .strip_prefix('[')?;
    let (list, reason) = list.split_once(']')?;
    let names: Vec<Name> = list.split(',').map(name).collect();
    let is_complete = names.iter().all(|name| !name.rule.is_empty());
    is_complete.then(|| ParsedSuppression {
        names,
        reason: without_separators(reason),
    })
}

/// Parses a line of an annotation; returns `None` for an empty line.
pub(super) fn of_annotation(line: &str) -> Option<ParsedSuppression> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let (rule, reason) = line.split_once(':').unwrap_or((line, ""));
    Some(ParsedSuppression {
        names: vec![name(rule)],
        reason: without_separators(reason),
    })
}

fn name(text: &str) -> Name {
    let (rule, container) = match text.trim().split_once('@') {
        Some((rule, container)) => (rule, Some(container.trim().to_owned())),
        None => (text, None),
    };
    Name {
        rule: rule.trim().to_owned(),
        container,
    }
}

fn without_separators(reason: &str) -> String {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—');
    reason
        .trim_start_matches(is_separator)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(suppression: &ParsedSuppression) -> String {
        let names: Vec<String> = suppression
            .names
            .iter()
            .map(|name| format!("{}@{:?}", name.rule, name.container))
            .collect();
        format!("{} | {}", names.join(" "), suppression.reason)
    }

    #[test]
    fn comments_are_parsed() {
        let parsed =
            |text: &str| of_comment(text).map(|result| result.map(|parsed| shown(&parsed)));
        let good = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(
            parsed("# meshprobe: ignore[a-b] why"),
            good("a-b@None | why")
        );
        assert_eq!(
            parsed("#meshprobe:ignore [a, b@web]: because: x"),
            good("a@None b@Some(\"web\") | because: x")
        );
        assert_eq!(parsed("# meshprobe: ignore[a]"), good("a@None | "));
        for bad in [
            "ignore",
            "ignore[] x",
            "ignore[a, ] x",
            "ignor[a] x",
            "ignore[a x",
        ] {
            assert_eq!(
                parsed(&format!("# meshprobe: {bad}")),
                Some(Err(())),
                "{bad}"
            );
        }
        for other in [
            "# mesh",
            "# see meshprobe: ignore[a] b",
            "# meshprobe check -q",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn annotations_are_parsed() {
        let parsed = |text: &str| of_annotation(text).map(|parsed| shown(&parsed));
        assert_eq!(
            parsed(" a@web: b: c "),
            Some("a@Some(\"web\") | b: c".to_owned())
        );
        assert_eq!(parsed("a"), Some("a@None | ".to_owned()));
        assert_eq!(parsed("  "), None);
    }
}
