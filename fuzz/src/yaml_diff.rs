//! Compares the readings of a document by our parser, yaml-rust2 and a parser derived from libyaml.
//!
//! For each document of a file:
//!
//! 1. If our parser and yaml-rust2 read it, the events are equal: kinds, nesting, order, and the style and decoded text
//!    of every scalar. If they differ, the parser derived from libyaml must read every string like ours, because the
//!    parser of kubectl is also derived from libyaml.
//! 2. If the parser derived from libyaml reads it, the text of every string is equal.
//! 3. Our parser reads a document that both others read, and rejects a document that both reject.
//!
//! [`ALLOWED`] contains the differences that are allowed, with reasons.

use std::collections::HashSet;
use std::sync::Arc;

use meshprobe::source::SourceFile;
use meshprobe::yaml::{self, Kind, NodeRef, Style, Tree};

use super::events;
use super::input::{LONGEST, text};

/// Runs the target with one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST / 4 {
        return;
    }
    if let Err(wrong) = text_read_alike(&text(data)) {
        panic!("{wrong}");
    }
}

/// Outcome of the comparison of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All parsers that read it read the same.
    Same,
    /// A difference that is allowed.
    Allowed(&'static str),
    /// No parser reads it, or it has no content.
    Nothing,
}

/// Compares every document of a text.
///
/// # Errors
/// The first difference that is not allowed, with the document.
pub fn text_read_alike(text: &str) -> Result<Vec<Outcome>, String> {
    let file = SourceFile::new("x.yaml".into(), text.into());
    let mut outcomes = Vec::new();
    for document in &file.documents {
        let source = document.segment.slice(text);
        let outcome = read_alike(source);
        outcomes.push(outcome.map_err(|wrong| format!("{wrong}\n--- document\n{source}"))?);
    }
    Ok(outcomes)
}

fn read_alike(source: &str) -> Result<Outcome, String> {
    let shared: Arc<str> = source.into();
    let ours = yaml::parse(&shared, yaml::Span::new(0, source.len()));
    let theirs = events::theirs(source);
    let third = libyaml(source);
    let case = Case {
        text: source,
        tree: ours.as_ref().ok().and_then(Option::as_ref),
    };
    let allowed = || ALLOWED.iter().find(|allowed| (allowed.holds)(&case));
    let judged = match (&ours, &theirs, &third) {
        (Ok(Some(tree)), Ok(events), _) => same(tree, events, source, &third),
        (Ok(Some(_)), Err(error), Third::Refused(libyaml)) => Err(format!(
            "only our parser reads it; yaml-rust2: {error}; libyaml: {libyaml}"
        )),
        (Ok(Some(tree)), Err(_), Third::Read(value)) => {
            strings(tree, value).map(|()| Outcome::Same)
        }
        (Err(error), Ok(_), Third::Read(_)) => {
            Err(format!("only our parser refuses it: {}", error.message))
        }
        (Ok(None), Ok(events), _) if !is_nothing(events) => Err(format!(
            "our parser reads no content, yaml-rust2 {events:?}"
        )),
        _ => Ok(Outcome::Nothing),
    };
    judged.or_else(|wrong| {
        allowed().map_or(Err(wrong), |allowed| Ok(Outcome::Allowed(allowed.reason)))
    })
}

fn same(tree: &Tree, events: &[String], source: &str, third: &Third) -> Result<Outcome, String> {
    let strings = match third {
        Third::Read(value) => Some(strings(tree, value)),
        _ => None,
    };
    match (
        events::difference(&events::ours(tree), events, source),
        strings,
    ) {
        (_, Some(Err(wrong))) | (Some(wrong), None) => Err(wrong),
        (Some(_), Some(Ok(()))) => Ok(Outcome::Allowed(ALONE)),
        (None, _) => Ok(Outcome::Same),
    }
}

fn has_forbidden_white_space(line: &str) -> bool {
    let content = line.trim_start_matches([' ', '\t']);
    let has_tab = line
        .strip_suffix(content)
        .is_some_and(|white| white.contains('\t'));
    let is_touching =
        |at: usize| at > 0 && !line.get(..at).unwrap_or_default().ends_with([' ', '\t']);
    has_tab || line.match_indices('#').any(|(at, _)| is_touching(at))
}

/// Returns whether the events are those of a document without content, which is one empty scalar for yaml-rust2.
fn is_nothing(events: &[String]) -> bool {
    matches!(events, [] | [_]) && events.iter().all(|event| event == "Plain ~")
}

/// Reading of a document by the parser derived from libyaml.
#[derive(Debug)]
enum Third {
    Read(serde_yaml::Value),
    /// The parser rejects the document.
    Refused(String),
    /// The parser accepts the document, but the serde API rejects the value.
    Other,
}

/// Messages of errors that come from the serde API, not from the parser.
const BEYOND: [&str; 7] = [
    "duplicate entry",
    "unknown anchor",
    "recursion limit",
    "repetition limit",
    "more than one document",
    "invalid type",
    "invalid value",
];

fn libyaml(source: &str) -> Third {
    let bare = source.strip_prefix('\u{feff}').unwrap_or(source);
    match serde_yaml::from_str(bare) {
        Ok(value) => Third::Read(value),
        Err(error) => {
            let error = error.to_string();
            if BEYOND.iter().any(|beyond| error.contains(beyond)) {
                Third::Other
            } else {
                Third::Refused(error)
            }
        }
    }
}

fn strings(tree: &Tree, value: &serde_yaml::Value) -> Result<(), String> {
    let root = tree.root().ok_or("no root")?;
    if has_complex_key(root) {
        return Ok(());
    }
    events::check_strings(root, value)
}

fn has_complex_key(root: NodeRef<'_>) -> bool {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if node.kind() == Kind::Alias {
            continue;
        }
        stack.extend(node.items());
        for entry in node.entries() {
            if entry.key.resolved().kind() != Kind::Scalar {
                return true;
            }
            stack.push(entry.value);
        }
    }
    false
}

/// A document, with our reading.
struct Case<'a> {
    text: &'a str,
    tree: Option<&'a Tree>,
}

/// A difference that is allowed.
struct Allowed {
    /// The reason of the difference.
    reason: &'static str,
    /// Returns whether the difference can occur in a document.
    holds: fn(&Case<'_>) -> bool,
}

/// Our parser and the one derived from libyaml read the same, and yaml-rust2 does not.
const ALONE: &str = "only yaml-rust2 reads the document differently";

/// The differences that are allowed, each with a condition on the document.
const ALLOWED: &[Allowed] = &[
    Allowed {
        reason: "YAML 1.2 forbids comments that touch a token, and tabs in indentation; libyaml reads some of them",
        holds: |case| case.tree.is_none() && case.text.lines().any(has_forbidden_white_space),
    },
    Allowed {
        reason: "U+0085, U+2028 and U+2029 end a line in YAML 1.1, and are text in YAML 1.2",
        holds: |case| case.text.contains(['\u{85}', '\u{2028}', '\u{2029}']),
    },
    Allowed {
        reason: "a byte order mark within a document is forbidden, and libyaml reads it as text",
        holds: |case| {
            case.text
                .trim_start_matches('\u{feff}')
                .contains('\u{feff}')
        },
    },
    Allowed {
        reason: "in libyaml the name of an anchor ends at the first character that is not a letter, a digit, `-` or `_`",
        holds: |case| case.text.contains(['&', '*']) && has_strange_anchor(case.text),
    },
    Allowed {
        reason: "in YAML 1.2 a key within braces may continue on the next line; libyaml refuses it",
        holds: |case| case.tree.and_then(Tree::root).is_some_and(has_key_of_lines),
    },
    Allowed {
        reason: "in YAML 1.2 a `:` within braces may be followed by a `,` or a bracket; libyaml refuses it",
        holds: |case| {
            case.tree
                .and_then(Tree::root)
                .is_some_and(has_touching_colon)
        },
    },
    Allowed {
        reason: "the serde API reads the second of two anchors with the same name as another anchor",
        holds: |case| case.tree.is_some_and(has_anchor_twice),
    },
    Allowed {
        reason: "in YAML 1.2 a block scalar that is the whole document needs no indentation",
        holds: |case| case.tree.and_then(Tree::root).is_some_and(is_block_scalar),
    },
    Allowed {
        reason: "a `?` at the end of the text is an empty key; the others require a space after it",
        holds: |case| case.text.ends_with('?'),
    },
    Allowed {
        reason: "in brackets, a `?` without a space after it is text in YAML 1.2, and marks a key in libyaml",
        holds: |case| {
            case.tree
                .and_then(Tree::root)
                .is_some_and(has_touching_mark)
        },
    },
    Allowed {
        reason: "a plain scalar in brackets may start with a `:`; the others refuse it before a bracket",
        holds: |case| {
            case.tree
                .and_then(Tree::root)
                .is_some_and(has_colon_in_front)
        },
    },
    Allowed {
        reason: "an unknown directive is skipped, regardless of its name",
        holds: |case| case.text.lines().any(|line| line.starts_with('%')),
    },
    Allowed {
        reason: "YAML 1.2 allows an empty key without `?`, YAML 1.1 lines without indentation in quotes and brackets; no other parser allows both",
        holds: |case| {
            let root = case.tree.and_then(Tree::root);
            root.is_some_and(|root| has_empty_key(root) && has_lines(root))
        },
    },
    Allowed {
        reason: "a block scalar whose last line has no line break is read as kubectl does, which adds one",
        holds: |case| {
            let root = case.tree.and_then(Tree::root);
            !case.text.ends_with('\n') && root.is_some_and(ends_with_block_scalar)
        },
    },
    Allowed {
        reason: "a tab after `-`, `?` or `:` separates it from the value in YAML 1.2; the others refuse it",
        holds: |case| case.text.contains('\t'),
    },
];

fn is_block_scalar(node: NodeRef<'_>) -> bool {
    matches!(node.style(), Style::Literal | Style::Folded)
}

fn has_touching_mark(root: NodeRef<'_>) -> bool {
    any_node(root, &mut |node| {
        let in_brackets = node
            .parent()
            .is_some_and(|parent| parent.style() == Style::Flow);
        in_brackets && node.style() == Style::Plain && node.source().starts_with('?')
    })
}

fn has_colon_in_front(root: NodeRef<'_>) -> bool {
    any_node(root, &mut |node| {
        let in_brackets = node
            .parent()
            .is_some_and(|parent| parent.style() == Style::Flow);
        in_brackets && node.style() == Style::Plain && node.source().starts_with(':')
    })
}

/// Returns whether a key within braces, or the space before its `:`, contains a line break.
fn has_key_of_lines(root: NodeRef<'_>) -> bool {
    let is_key = |node: NodeRef<'_>| {
        let mut entries = node.entries();
        node.style() == Style::Flow
            && entries.any(|entry| {
                let end = entry.value.outer_span().start;
                let text = node.tree().text().get(entry.key.span().start..end);
                let before = text.unwrap_or_default();
                before
                    .rsplit_once(':')
                    .is_some_and(|(key, _)| key.contains('\n'))
            })
    };
    any_node(root, &mut { is_key })
}

/// Returns whether a `:` within braces touches the `,` or bracket that follows it.
fn has_touching_colon(root: NodeRef<'_>) -> bool {
    let is_touched = |node: NodeRef<'_>| {
        let mut entries = node.entries();
        node.style() == Style::Flow
            && entries.any(|entry| {
                let at = entry.value.span().start;
                let text = node.tree().text();
                let (before, after) = text.split_at_checked(at).unwrap_or_default();
                before.ends_with(':') && after.starts_with([',', ']', '}', '[', '{'])
            })
    };
    any_node(root, &mut { is_touched })
}

fn ends_with_block_scalar(root: NodeRef<'_>) -> bool {
    let end = root.span().end;
    any_node(root, &mut |node| {
        is_block_scalar(node) && node.span().end == end
    })
}

fn has_empty_key(root: NodeRef<'_>) -> bool {
    any_node(root, &mut |node| {
        let mut keys = node.entries().map(|entry| entry.key);
        keys.any(|key| key.source().is_empty())
    })
}

/// Returns whether a value in quotes or brackets has several lines.
fn has_lines(root: NodeRef<'_>) -> bool {
    any_node(root, &mut |node| {
        let styles = [Style::SingleQuoted, Style::DoubleQuoted, Style::Flow];
        styles.contains(&node.style()) && node.source().contains(['\n', '\r'])
    })
}

fn has_anchor_twice(tree: &Tree) -> bool {
    let mut names = HashSet::new();
    let is_known = |node: NodeRef<'_>| {
        let anchor = node.anchor_span();
        anchor.is_some_and(|span| !names.insert(span.slice(tree.text()).to_owned()))
    };
    tree.root()
        .is_some_and(|root| any_node(root, &mut { is_known }))
}

/// Returns whether `predicate` is true for a node in `root`; aliases are not followed.
fn any_node<'t>(root: NodeRef<'t>, predicate: &mut dyn FnMut(NodeRef<'t>) -> bool) -> bool {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if predicate(node) {
            return true;
        }
        if node.kind() != Kind::Alias {
            stack.extend(node.items());
            let entries = node.entries();
            stack.extend(entries.flat_map(|entry| [entry.key, entry.value]));
        }
    }
    false
}

fn has_strange_anchor(text: &str) -> bool {
    text.split(['&', '*']).skip(1).any(|rest| {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let end = rest.trim_start_matches(word).chars().next();
        end.is_some_and(|c| !c.is_whitespace())
    })
}
