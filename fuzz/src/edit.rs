//! Any text with any changes: whatever is made of it is what was meant, and nothing else.

use std::sync::Arc;

use meshprobe::engine::{self, Rewritten};
use meshprobe::finding::Severity;
use meshprobe::settings::{Form, Settings};
use meshprobe::source::{SourceFile, SourceSet};
use meshprobe::yaml::edit::{Edit, apply, plan, splice};
use meshprobe::yaml::{self, Change, NodeRef, Route, Span, Tree, Value};
use serde_json::{Map, Value as Json};

use super::input::{LONGEST, Numbers, choice, parts, text};
use super::manifest::{injected, told};
use super::{events, parse};

/// Runs the target over one input: a file, and behind the separator what is done to it.
pub fn run(data: &[u8]) {
    // Every change reads the document many times.
    if data.len() > LONGEST / 4 {
        return;
    }
    let mut parts = parts(data);
    let text = text(parts.next().unwrap_or_default());
    let numbers = parts
        .next()
        .unwrap_or(&[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]);
    let file = SourceFile::new("x.yaml".into(), text.as_str().into());
    let mut numbers = Numbers::new(numbers);
    for document in file.documents.iter().take(4) {
        if let Ok(Some(tree)) = yaml::parse(&file.text, document.segment) {
            let changes = changes(&tree, &mut numbers);
            changed(&file, &tree, &changes);
        }
    }
    // A rewrite takes far longer than an edit.
    if text.contains("containers") && choice(data).is_multiple_of(4) {
        let form = *numbers.pick(&Form::ALL);
        there_and_back(&text, form);
    }
}

const KEYS: [&str; 8] = [
    "a",
    "metadata",
    "annotations",
    "q d",
    "8080",
    "httpGet",
    "port",
    "<<",
];

/// One to four changes of nodes that are there, or almost there.
fn changes(tree: &Tree, numbers: &mut Numbers<'_>) -> Vec<Change> {
    let mut routes = Vec::new();
    list(
        tree.root().expect("no root"),
        &Route::root(),
        8,
        &mut routes,
    );
    let mut changes = Vec::new();
    for _ in 0..4 {
        let high = numbers.next();
        let at = (high * 256 + numbers.next()) % routes.len();
        changes.push(change(&routes[at], numbers));
        if numbers.is_empty() {
            break;
        }
    }
    changes
}

/// Lists the routes of all nodes, aliases followed to a depth.
fn list(node: NodeRef<'_>, route: &Route, depth: usize, out: &mut Vec<Route>) {
    out.push(route.clone());
    if depth == 0 || out.len() > 2000 {
        return;
    }
    for (index, item) in node.items().enumerate() {
        list(item, &route.child(index), depth - 1, out);
    }
    for entry in node.effective_entries() {
        if let Some(key) = entry.key.text() {
            list(entry.value, &route.child(key.to_owned()), depth - 1, out);
        }
    }
}

fn change(route: &Route, numbers: &mut Numbers<'_>) -> Change {
    let route = route.clone();
    match numbers.next() % 6 {
        0 | 1 => Change::Set {
            value: value(numbers, 2),
            route,
        },
        2 => Change::Set {
            route: route
                .child(*numbers.pick(&KEYS))
                .child(*numbers.pick(&KEYS)),
            value: value(numbers, 2),
        },
        3 => Change::Replace {
            route,
            key: (*numbers.pick(&KEYS)).to_owned(),
            value: value(numbers, 2),
        },
        4 => Change::Push {
            value: value(numbers, 2),
            route,
        },
        _ => Change::Remove { route },
    }
}

fn value(numbers: &mut Numbers<'_>, depth: usize) -> Value {
    const TEXTS: [&str; 14] = [
        "text",
        "",
        "yes",
        "a: b",
        "- x",
        "it's",
        "\u{85}\u{7f}",
        "{x}",
        "*a",
        "# x",
        " é ",
        "two\nlines",
        "\u{2028}",
        "0x1f",
    ];
    const BLOCKS: [&str; 6] = [
        "one\ntwo\n",
        "one\ntwo",
        "one\n\n",
        " lead\nx\n",
        "# x\n\ny: z\n",
        "\n\n",
    ];
    match numbers.next() % 8 {
        0 => Value::Null,
        1 => Value::Bool(numbers.next().is_multiple_of(2)),
        2 => Value::Int(numbers.next() as i64 * 257 - 300),
        3 | 4 => Value::from(*numbers.pick(&TEXTS)),
        5 => Value::Block((*numbers.pick(&BLOCKS)).to_owned()),
        _ if depth == 0 => Value::from("deep"),
        6 => Value::Seq(
            (0..numbers.next() % 3)
                .map(|_| value(numbers, depth - 1))
                .collect(),
        ),
        _ => {
            // A mapping to be written names each key once.
            let mut entries: Vec<(String, Value)> = Vec::new();
            for _ in 0..numbers.next() % 3 {
                let key = (*numbers.pick(&KEYS)).to_owned();
                if key != "<<" && entries.iter().all(|(other, _)| *other != key) {
                    entries.push((key, value(numbers, depth - 1)));
                }
            }
            Value::Map(entries)
        }
    }
}

/// Makes the changes; what is not refused must be right.
fn changed(file: &SourceFile, tree: &Tree, changes: &[Change]) {
    let text = &*file.text;
    if let Ok(planned) = plan(tree, changes) {
        in_order(tree, &planned);
    }
    let Ok(edits) = apply(tree, changes) else {
        return;
    };
    in_order(tree, &edits);
    let after = splice(text, &edits);
    untouched(text, &after, &edits);
    let segment = tree.segment();
    let grown = after.len() + segment.len() - text.len();
    let segment = Span::new(segment.start, segment.start + grown);
    let shared: Arc<str> = after.as_str().into();
    let new = match yaml::parse(&shared, segment) {
        Ok(Some(new)) => new,
        other => panic!("the edited document is read as {other:?}"),
    };
    parse::tree_within(&new);
    read_alike(text, tree, &new);
    let again = SourceFile::new("x.yaml".into(), after.as_str().into());
    assert_eq!(
        again.documents.len(),
        file.documents.len(),
        "documents come or go\n{text}\n---\n{after}"
    );
    if are_separate_settings(changes) {
        let more = plan(&new, changes);
        assert_eq!(
            more,
            Ok(Vec::new()),
            "not settled\n{changes:?}\n{text}\n--- after\n{after}"
        );
    }
}

fn in_order(tree: &Tree, edits: &[Edit]) {
    let (text, segment) = (tree.text(), tree.segment());
    let mut end = segment.start;
    for edit in edits {
        assert!(end <= edit.span.start && edit.span.start <= edit.span.end);
        assert!(edit.span.end <= segment.end, "an edit leaves its document");
        assert!(
            text.is_char_boundary(edit.span.start) && text.is_char_boundary(edit.span.end),
            "an edit cuts a character"
        );
        end = edit.span.end;
    }
}

/// Walks both texts: outside of edits they are the same to the byte.
fn untouched(before: &str, after: &str, edits: &[Edit]) {
    let (mut old, mut new) = (before, after);
    let mut at = 0;
    for edit in edits {
        let (kept, rest) = old.split_at(edit.span.start - at);
        old = &rest[edit.span.len()..];
        at = edit.span.end;
        new = new.strip_prefix(kept).expect("bytes before an edit differ");
        new = new.strip_prefix(&*edit.text).expect("an edit is not there");
    }
    assert_eq!(old, new, "bytes behind the last edit differ");
}

/// A third parser that could read the document before reads the same as we do after.
fn read_alike(text: &str, old: &Tree, new: &Tree) {
    let before = old.segment().slice(text);
    let agreed = events::theirs(before)
        .is_ok_and(|theirs| events::difference(&events::ours(old), &theirs, before).is_none());
    if !agreed {
        return;
    }
    let after = new.segment().slice(new.text());
    match events::theirs(after) {
        Ok(theirs) => {
            let wrong = events::difference(&events::ours(new), &theirs, after);
            assert_eq!(
                wrong, None,
                "after the edit yaml-rust2 differs\n{before}\n--- after\n{after}"
            );
        }
        Err(error) => panic!("yaml-rust2 refuses the edit: {error}\n{before}\n--- after\n{after}"),
    }
}

/// Tells whether all changes set values, none of them within another.
fn are_separate_settings(changes: &[Change]) -> bool {
    let steps = |change: &Change| change.route().steps().to_vec();
    let apart = |one: &Change, other: &Change| {
        let (one, other) = (steps(one), steps(other));
        !one.starts_with(&other) && !other.starts_with(&one)
    };
    changes.iter().enumerate().all(|(at, one)| {
        matches!(one, Change::Set { .. })
            && changes.iter().skip(at + 1).all(|other| apart(one, other))
    })
}

/// Rewrites and undoes.
fn there_and_back(text: &str, form: Form) {
    let set = |text: &str| SourceSet::from_text("web.yaml", text);
    let settings = Settings { form, ..injected() };
    let original = set(text);
    let there = engine::rewrite(&original, &settings);
    told(&original, &there.findings);
    let after = text_of(&there);
    let again = engine::rewrite(&set(&after), &settings);
    assert_eq!(text_of(&again), after, "a second rewrite goes on");
    let rewritten = set(&after);
    let back = engine::undo(&rewritten, &Settings::default());
    told(&rewritten, &back.findings);
    let undone = text_of(&back);
    let twice = engine::undo(&set(&undone), &Settings::default());
    assert_eq!(text_of(&twice), undone, "a second undoing goes on");
    // An original that holds parts of a rewrite itself is undone further than it was.
    let was_bare = engine::undo(&original, &Settings::default())
        .changed
        .is_empty();
    let claims = [&there, &back].iter().all(|run| {
        run.findings
            .iter()
            .all(|finding| finding.severity != Severity::Error)
    });
    if after != text
        && was_bare
        && claims
        && !text.contains("sidecar.istio.io/rewriteAppHTTPProbers")
    {
        assert_eq!(
            values(&undone),
            values(text),
            "not undone\n{text}\n--- rewritten\n{after}\n--- undone\n{undone}"
        );
    }
}

fn text_of(run: &Rewritten) -> String {
    run.set.files[0].text.to_string()
}

/// What the documents mean, as the API server would keep it.
fn values(text: &str) -> Vec<Json> {
    let file = SourceFile::new("x.yaml".into(), text.into());
    let trees = file.documents.iter().filter_map(|document| document.tree());
    let values = trees.map(|tree| {
        let mut value = yaml::from_node(tree.root().expect("no root")).unwrap_or(Json::Null);
        normal(&mut value);
        value
    });
    values.collect()
}

/// Fills in defaults, and leaves out what is empty and what an entry cannot tell: the name of a
/// port, for which it records the number.
fn normal(value: &mut Json) {
    match value {
        Json::Array(items) => {
            items.iter_mut().for_each(normal);
            // A sidecar that says nothing goes with the env that was written into it.
            items.retain(|item| {
                *item != serde_json::json!({"name": "istio-proxy", "image": "auto"})
            });
        }
        Json::Object(fields) => {
            for handler in ["httpGet", "tcpSocket", "grpc"] {
                if let Some(Json::Object(action)) = fields.get_mut(handler) {
                    normal_handler(handler, action);
                }
            }
            fields.remove("timeoutSeconds");
            fields.values_mut().for_each(normal);
            fields.retain(|_, value| !is_empty(value));
        }
        _ => {}
    }
}

fn normal_handler(kind: &str, action: &mut Map<String, Json>) {
    action.remove("port");
    if kind == "httpGet" {
        for (key, default) in [("path", "/"), ("scheme", "HTTP")] {
            if action.get(key).is_none_or(is_empty) {
                action.insert(key.into(), default.into());
            }
        }
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        Json::String(text) => text.trim().is_empty(),
        _ => false,
    }
}
