//! The same document in our arena, in yaml-rust2 and in libyaml's line.
//!
//! What must be equal, for each document of a file on its own:
//!
//! 1. Where ours and yaml-rust2 both read it, the events are the same: kinds, nesting, order, the
//!    style and the decoded text of every scalar. Where they differ, libyaml's line must read every
//!    string as we do: kubectl's parser is of that line.
//! 2. Where libyaml's line reads it, the text of every string is the same, at every place.
//! 3. We never stand alone: what both others read, we read; what both refuse, we refuse.
//!
//! The differences that are allowed are those of [`ALLOWED`], each with its reason.

use std::collections::HashSet;
use std::sync::Arc;

use meshprobe::source::SourceFile;
use meshprobe::yaml::{self, Kind, NodeRef, Style, Tree};

use super::events;
use super::input::{LONGEST, text};

/// Runs the target over one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST / 4 {
        return;
    }
    if let Err(wrong) = text_read_alike(&text(data)) {
        panic!("{wrong}");
    }
}

/// What became of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that read it read the same.
    Same,
    /// A difference that is allowed.
    Allowed(&'static str),
    /// None of the three reads it, or it holds nothing.
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
    let allowed = || ALLOWED.iter().find(|one| (one.holds)(&case));
    let judged = match (&ours, &theirs, &third) {
        (Ok(Some(tree)), Ok(events), _) => same(tree, events, source, &third),
        (Ok(Some(_)), Err(error), Third::Refused(libyaml)) => Err(format!(
            "only we read it; yaml-rust2: {error}; libyaml: {libyaml}"
        )),
        (Ok(Some(tree)), Err(_), Third::Read(value)) => {
            strings(tree, value).map(|()| Outcome::Same)
        }
        (Err(error), Ok(_), Third::Read(_)) => Err(format!("only we refuse it: {}", error.message)),
        (Ok(None), Ok(events), _) if !is_nothing(events) => {
            Err(format!("we read nothing, yaml-rust2 {events:?}"))
        }
        _ => Ok(Outcome::Nothing),
    };
    judged.or_else(|wrong| allowed().map_or(Err(wrong), |one| Ok(Outcome::Allowed(one.reason))))
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
/// A document without content is one empty scalar for yaml-rust2.
fn is_nothing(events: &[String]) -> bool {
    matches!(events, [] | [_]) && events.iter().all(|event| event == "Plain ~")
}

/// What libyaml's line makes of a document.
#[derive(Debug)]
enum Third {
    Read(serde_yaml::Value),
    /// It is no YAML for it.
    Refused(String),
    /// It is YAML, but the value is refused: by the serde API, not by the parser.
    Other,
}

/// What the serde API refuses beyond the parser.
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

/// A document, and what we make of it.
struct Case<'a> {
    text: &'a str,
    tree: Option<&'a Tree>,
}

/// A difference that is allowed.
struct Allowed {
    /// Why.
    reason: &'static str,
    /// Tells whether a document has what makes the difference.
    holds: fn(&Case<'_>) -> bool,
}

/// Ours and libyaml's line read the same, and yaml-rust2 does not.
const ALONE: &str = "yaml-rust2 stands alone";

/// The differences that are allowed, each with what must stand in the document.
const ALLOWED: &[Allowed] = &[
    Allowed {
        reason: "U+0085, U+2028 and U+2029 end a line in YAML 1.1, and are text in YAML 1.2",
        holds: |case| case.text.contains(['\u{85}', '\u{2028}', '\u{2029}']),
    },
    Allowed {
        reason: "a byte order mark within a document is forbidden, and libyaml takes it for text",
        holds: |case| {
            case.text
                .trim_start_matches('\u{feff}')
                .contains('\u{feff}')
        },
    },
    Allowed {
        reason: "in libyaml the name of an anchor ends at the first character that is no letter of a word",
        holds: |case| case.text.contains(['&', '*']) && has_strange_anchor(case.text),
    },
    Allowed {
        reason: "in YAML 1.2 a key within braces may go on in the next line; libyaml refuses it",
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
        reason: "the serde API takes the second of two anchors with one name for another one",
        holds: |case| case.tree.is_some_and(has_anchor_twice),
    },
    Allowed {
        reason: "in YAML 1.2 a block scalar that is the whole document needs no indentation",
        holds: |case| case.tree.and_then(Tree::root).is_some_and(is_block_scalar),
    },
    Allowed {
        reason: "a `?` that ends the text is a key without a name; the others want a space behind it",
        holds: |case| case.text.ends_with('?'),
    },
    Allowed {
        reason: "a `?` that touches what follows in brackets is text in YAML 1.2, and marks a key in libyaml",
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
        reason: "a directive that means nothing is skipped, whatever its name",
        holds: |case| case.text.lines().any(|line| line.starts_with('%')),
    },
    Allowed {
        reason: "YAML 1.2 allows an empty key without `?`, YAML 1.1 lines without indentation in quotes and brackets; no other parser both",
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
        reason: "a tab behind `-`, `?` or `:` parts them from what follows in YAML 1.2; the others refuse it",
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

/// Returns whether a key within braces, or the space in front of its `:`, contains a line break.
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

/// Tells whether a value in quotes or brackets has several lines.
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

/// Tells whether a node below `root` is meant; aliases are not followed.
fn any_node<'t>(root: NodeRef<'t>, is_meant: &mut dyn FnMut(NodeRef<'t>) -> bool) -> bool {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if is_meant(node) {
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
