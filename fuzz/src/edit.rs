//! Any text with any changes: an edit makes exactly the intended changes.

use std::sync::Arc;

use meshprobe::engine::{self, Rewritten};
use meshprobe::finding::Severity;
use meshprobe::settings::{Form, Settings};
use meshprobe::source::{SourceFile, SourceSet};
use meshprobe::yaml::edit::{Edit, apply, plan, splice};
use meshprobe::yaml::{self, Change, FieldPath, NodeRef, Span, Tree, Value};
use serde_json::{Map, Value as Json};

use super::input::{LONGEST, Numbers, choice, parts, text};
use super::manifest::{injected, verify_findings};
use super::{events, parse};

/// Runs the target with one input: a file, and after the separator numbers that select the changes.
pub fn run(data: &[u8]) {
    // Every change parses the document many times.
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
    // A rewrite takes much longer than an edit.
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

/// Returns one to four changes of existing nodes, or of missing children of existing nodes.
fn changes(tree: &Tree, numbers: &mut Numbers<'_>) -> Vec<Change> {
    let mut routes = Vec::new();
    list(
        tree.root().expect("the tree has no root"),
        &FieldPath::root(),
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

/// Appends the routes of all nodes to `out`. Aliases are followed up to `depth`.
fn list(node: NodeRef<'_>, route: &FieldPath, depth: usize, out: &mut Vec<FieldPath>) {
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

fn change(route: &FieldPath, numbers: &mut Numbers<'_>) -> Change {
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
            // The keys of a mapping that is written are unique.
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

/// Applies the changes. If they are not refused, the result must be correct.
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
        "the number of documents changes\n{text}\n---\n{after}"
    );
    if are_separate_settings(changes) {
        let more = plan(&new, changes);
        assert_eq!(
            more,
            Ok(Vec::new()),
            "the same changes cause further edits\n{changes:?}\n{text}\n--- after\n{after}"
        );
    }
}

fn in_order(tree: &Tree, edits: &[Edit]) {
    let (text, segment) = (tree.text(), tree.segment());
    let mut end = segment.start;
    for edit in edits {
        assert!(end <= edit.span.start && edit.span.start <= edit.span.end);
        assert!(
            edit.span.end <= segment.end,
            "an edit is outside of its document"
        );
        assert!(
            text.is_char_boundary(edit.span.start) && text.is_char_boundary(edit.span.end),
            "an edit cuts a character"
        );
        end = edit.span.end;
    }
}

/// Compares both texts: outside of edits they must be byte-identical.
fn untouched(before: &str, after: &str, edits: &[Edit]) {
    let (mut old, mut new) = (before, after);
    let mut at = 0;
    for edit in edits {
        let (kept, rest) = old.split_at(edit.span.start - at);
        old = &rest[edit.span.len()..];
        at = edit.span.end;
        new = new.strip_prefix(kept).expect("bytes before an edit differ");
        new = new.strip_prefix(&*edit.text).expect("an edit is missing");
    }
    assert_eq!(old, new, "bytes after the last edit differ");
}

/// Checks that a third parser reads the edited document like our parser, if it reads the original like our parser.
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
                "after the edit, yaml-rust2 reads other events\n{before}\n--- after\n{after}"
            );
        }
        Err(error) => panic!("yaml-rust2 refuses the edit: {error}\n{before}\n--- after\n{after}"),
    }
}

/// Returns whether all changes set values, and none of them is inside another.
fn are_separate_settings(changes: &[Change]) -> bool {
    let steps = |change: &Change| change.route().steps().to_vec();
    let are_separate = |change: &Change, other: &Change| {
        let (steps, others) = (steps(change), steps(other));
        !steps.starts_with(&others) && !others.starts_with(&steps)
    };
    changes.iter().enumerate().all(|(at, change)| {
        matches!(change, Change::Set { .. })
            && changes
                .iter()
                .skip(at + 1)
                .all(|other| are_separate(change, other))
    })
}

/// Rewrites a text and undoes the rewrite.
fn there_and_back(text: &str, form: Form) {
    let set = |text: &str| SourceSet::from_text("web.yaml", text);
    let form = form.into();
    let settings = Settings { form, ..injected() };
    let original = set(text);
    let there = engine::rewrite(&original, &settings);
    verify_findings(&original, &there.findings);
    let after = text_of(&there);
    let again = engine::rewrite(&set(&after), &settings);
    assert_eq!(text_of(&again), after, "a second rewrite changes the text");
    let rewritten = set(&after);
    let back = engine::undo(&rewritten, &Settings::default());
    verify_findings(&rewritten, &back.findings);
    let undone = text_of(&back);
    let twice = engine::undo(&set(&undone), &Settings::default());
    assert_eq!(text_of(&twice), undone, "a second undo changes the text");
    // If the original contains parts of a rewrite, the undo changes these too.
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
            "the undo does not restore the original\n{text}\n--- rewritten\n{after}\n--- undone\n{undone}"
        );
    }
}

fn text_of(run: &Rewritten) -> String {
    run.set.files[0].text.to_string()
}

/// Returns the values of the documents, as the API server would store them.
fn values(text: &str) -> Vec<Json> {
    let file = SourceFile::new("x.yaml".into(), text.into());
    let trees = file.documents.iter().filter_map(|document| document.tree());
    let values = trees.map(|tree| {
        let mut value =
            yaml::from_node(tree.root().expect("the tree has no root")).unwrap_or(Json::Null);
        normal(&mut value);
        value
    });
    values.collect()
}

/// Fills in defaults. Removes empty values, and the names of ports, which are not restored because an entry records
/// their numbers.
fn normal(value: &mut Json) {
    match value {
        Json::Array(items) => {
            items.iter_mut().for_each(normal);
            // The undo removes a sidecar that has no other fields together with the env that was written into it.
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
