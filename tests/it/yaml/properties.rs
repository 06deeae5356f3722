//! Properties of every document, layout and change, checked on random ones.

use super::layouts;
use crate::fuzz_targets::events;
use std::collections::BTreeMap;
use std::sync::Arc;

use meshprobe::yaml::edit::{Edit, EditError, apply, plan, splice};
use meshprobe::yaml::verify::verify;
use meshprobe::yaml::{Change, FieldPath, Kind, NodeRef, Span, Tree, Value, parse};
use proptest::prelude::*;

fn tree(text: &str) -> Tree {
    parse(&Arc::from(text), Span::new(0, text.len()))
        .expect("the text is not YAML")
        .expect("the document is empty")
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-5i64..20000).prop_map(Value::Int),
        prop::sample::select(vec![
            "text",
            "8080",
            "yes",
            "a: b",
            "- x",
            "",
            "é",
            "it's",
            "\u{85}\u{7f}",
            "two\nlines",
            "{x}",
            "*a"
        ])
        .prop_map(Value::from),
        prop::sample::select(vec![
            "one\ntwo\n",
            "one\ntwo",
            "one\n\n",
            " lead\nx\n",
            "a\u{2028}b\n",
            "# x\n\ny: z\n"
        ])
        .prop_map(|text| Value::Block(text.to_owned())),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Seq),
            prop::collection::btree_map(
                prop::sample::select(vec!["a", "b", "spec", "q d", "new", "8080"]),
                inner,
                0..3
            )
            .prop_map(|entries| Value::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            )),
        ]
    })
}

/// A change of a node that is selected later, when the document is known.
#[derive(Clone, Debug)]
enum Plan {
    Set(Value),
    SetBelow(Vec<&'static str>, Value),
    Replace(&'static str, Value),
    Push(Value),
    Remove,
}

fn plans() -> impl Strategy<Value = (prop::sample::Index, Plan)> {
    let key = prop::sample::select(vec!["a", "new", "annotations", "metadata", "q d"]);
    let keys = prop::collection::vec(key.clone(), 1..3);
    let plan = prop_oneof![
        3 => values().prop_map(Plan::Set),
        3 => (keys, values()).prop_map(|(keys, value)| Plan::SetBelow(keys, value)),
        1 => (key, values()).prop_map(|(key, value)| Plan::Replace(key, value)),
        2 => values().prop_map(Plan::Push),
        2 => Just(Plan::Remove),
    ];
    (any::<prop::sample::Index>(), plan)
}

/// Appends the routes of all nodes to `out`. Aliases and merge keys are followed up to `depth`.
fn routes(node: NodeRef<'_>, route: &FieldPath, depth: usize, out: &mut Vec<FieldPath>) {
    out.push(route.clone());
    if depth == 0 || out.len() > 200 {
        return;
    }
    for (index, item) in node.items().enumerate() {
        routes(item, &route.child(index), depth - 1, out);
    }
    for entry in node.entries() {
        if entry.key.is_merge_key() {
            for inherited in entry.value.entries() {
                if let Some(key) = inherited.key.text() {
                    out.push(route.child(key.to_owned()));
                }
            }
        } else if let Some(key) = entry.key.text() {
            routes(entry.value, &route.child(key.to_owned()), depth - 1, out);
        }
    }
}

fn changes(tree: &Tree, plans: &[(prop::sample::Index, Plan)]) -> Vec<Change> {
    let mut all = Vec::new();
    routes(tree.root().unwrap(), &FieldPath::root(), 8, &mut all);
    let change = |(index, plan): &(prop::sample::Index, Plan)| {
        let route = index.get(&all).clone();
        match plan.clone() {
            Plan::Set(value) => Change::Set { route, value },
            Plan::SetBelow(keys, value) => {
                let below = keys.iter().fold(route, |route, key| route.child(*key));
                Change::Set {
                    route: below,
                    value,
                }
            }
            Plan::Replace(key, value) => Change::Replace {
                route,
                key: key.to_owned(),
                value,
            },
            Plan::Push(value) => Change::Push { route, value },
            Plan::Remove => Change::Remove { route },
        }
    };
    plans.iter().map(change).collect()
}

/// Counts the comments, each of which has a unique number.
fn comments(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for part in text.split("# c").skip(1) {
        if let Some((number, _)) = part.split_once('.') {
            *counts.entry(number).or_insert(0) += 1;
        }
    }
    counts
}

/// Returns whether a change may remove comments, because it replaces or removes a value of several lines.
fn may_drop_comments(tree: &Tree, change: &Change) -> bool {
    let old = tree.root().unwrap().at(change.route());
    match change {
        Change::Push { .. } => false,
        Change::Remove { .. } => true,
        Change::Set { .. } | Change::Replace { .. } => {
            old.is_some_and(|node| node.kind() != Kind::Scalar || node.source().contains('\n'))
        }
    }
}

/// Returns whether all changes set values, and none of them is inside another.
fn are_separate_settings(changes: &[Change]) -> bool {
    let overlaps = |change: &Change, other: &Change| {
        let (steps, others) = (change.route().steps(), other.route().steps());
        steps.starts_with(others) || others.starts_with(steps)
    };
    let mut pairs = changes.iter().enumerate().flat_map(|(at, change)| {
        changes
            .iter()
            .skip(at + 1)
            .map(move |other| (change, other))
    });
    changes
        .iter()
        .all(|change| matches!(change, Change::Set { .. }))
        && !pairs.any(|(change, other)| overlaps(change, other))
}

/// Returns whether an edit is refused because the file ends within a block scalar, whose value depends on the reader.
fn is_cut_off(text: &str, applied: &Result<Vec<Edit>, EditError>) -> bool {
    let is_reason = |error: &EditError| error.reason.starts_with("the file ends within a block");
    !text.ends_with('\n') && applied.as_ref().is_err_and(is_reason)
}

fn check(text: &str, plans: &[(prop::sample::Index, Plan)]) -> Result<(), TestCaseError> {
    let tree = tree(text);
    let changes = changes(&tree, plans);
    let Ok(edits) = plan(&tree, &changes) else {
        return Ok(());
    };
    let mut end = 0;
    for edit in &edits {
        prop_assert!(
            end <= edit.span.start
                && edit.span.start <= edit.span.end
                && edit.span.end <= text.len()
        );
        prop_assert!(
            text.is_char_boundary(edit.span.start) && text.is_char_boundary(edit.span.end)
        );
        end = edit.span.end;
    }
    let after = splice(text, &edits);
    if verify(text, &[], text).is_err() {
        return Ok(());
    }
    let applied = apply(&tree, &changes);
    if is_cut_off(text, &applied) {
        return Ok(());
    }
    let reason = applied
        .as_ref()
        .map_err(|EditError { reason, .. }| reason.clone());
    prop_assert!(
        applied.is_ok(),
        "{reason:?}\n{changes:?}\n--- before\n{text}\n--- after\n{after}"
    );
    if are_separate_settings(&changes) {
        let again = plan(&self::tree(&after), &changes);
        prop_assert_eq!(
            again,
            Ok(Vec::new()),
            "{:?}\n--- before\n{}\n--- after\n{}",
            changes,
            text,
            after
        );
    }
    if !changes
        .iter()
        .any(|change| may_drop_comments(&tree, change))
    {
        let (old, new) = (comments(text), comments(&after));
        for (number, count) in old {
            prop_assert!(
                new.get(number) >= Some(&count),
                "comment {number} is lost\n{changes:?}\n--- before\n{text}\n--- after\n{after}"
            );
        }
    }
    Ok(())
}

fn same_events(text: &str, tree: &Tree) -> Result<(), String> {
    let ours = events::ours(tree);
    let wrong = match events::theirs(text) {
        Ok(theirs) => events::difference(&ours, &theirs, text),
        Err(error) => Some(error),
    };
    match wrong.or_else(|| events::check_spans(tree).err()) {
        Some(wrong) => Err(format!("{wrong}\n{text}")),
        None => Ok(()),
    }
}

#[test]
fn our_tree_of_the_fixtures_equals_the_events_of_yaml_rust2() {
    let mut documents = 0;
    for entry in std::fs::read_dir("fixtures/yaml/edits").unwrap() {
        let path = entry.unwrap().path();
        // yaml-rust2 refuses tabs after a dash or a colon.
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with("tab-") || path.extension().is_some_and(|ending| ending == "changes") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split_inclusive("\n---\n") {
            if let Ok(Some(tree)) = parse(&Arc::from(part), Span::new(0, part.len())) {
                same_events(part, &tree)
                    .unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
                documents += 1;
            }
        }
    }
    assert!(documents > 35, "{documents}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_parsers_read_the_intended_changes(
        text in layouts::documents(),
        plans in prop::collection::vec(plans(), 1..4),
    ) {
        check(&text, &plans)?;
    }

    #[test]
    fn our_tree_equals_the_events_of_yaml_rust2(text in layouts::documents()) {
        let tree = tree(&text);
        same_events(&text, &tree).map_err(TestCaseError::fail)?;
        let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if let Ok(value) = serde_yaml::from_str(bare) {
            prop_assert_eq!(events::check_strings(tree.root().unwrap(), &value), Ok(()), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(
        text in "(a|b|: |- |-|\n|  |\\{|\\}|\\[|\\]|, |\"|'|#|&x |\\*x|<<|\\||>|\\+|é|\t|\r\n|\\?|!t |x){0,40}",
        plans in prop::collection::vec(plans(), 1..3),
    ) {
        if let Ok(Some(tree)) = parse(&Arc::from(text.as_str()), Span::new(0, text.len())) {
            let changes = changes(&tree, &plans);
            // The result is either refused or correct.
            drop(apply(&tree, &changes));
            drop(verify(&text, &changes, &text));
        }
    }
}
