//! Any bytes as the input of the KRM function, which must never lose an item, because its caller deletes the items
//! that are missing in the output.

use std::path::Path;

use meshprobe::engine::Exit;
use meshprobe::krm;
use meshprobe::source::SourceSet;
use meshprobe::yaml::{NodeRef, Tree};

use super::input::{LONGEST, parts};

/// Runs the target with one input: standard input, and after the separator the configuration
/// file of a legacy plugin.
pub fn run(data: &[u8]) {
    // A configuration may name folders to read facts from, and a fuzzer must not read the disk of this machine.
    if data.len() > LONGEST || data.windows(7).any(|word| word == b"context") {
        return;
    }
    let mut parts = parts(data);
    let input = parts.next().unwrap_or_default();
    let directory = Path::new("/nowhere");
    let answer = krm::run(input, directory, None);
    match answer.exit {
        Exit::Failure => {
            assert!(answer.output.is_none(), "a failed call has an output");
            assert!(!answer.messages.is_empty(), "a failed call has no message");
        }
        _ => {
            let output = answer.output.expect("a call succeeds without an output");
            let input = std::str::from_utf8(input)
                .expect("a call succeeds with an input that is not UTF-8");
            same_items(input, &output);
            let again = krm::run(output.as_bytes(), directory, None);
            let again = again.output.expect("the function refuses its own output");
            same_texts(&output, &again);
        }
    }
    if let Some(bytes) = parts.next() {
        let name = "config.yaml";
        let config = krm::ConfigFile { name, bytes };
        let answer = krm::run(input, directory, Some(config));
        assert_eq!(answer.exit == Exit::Failure, answer.output.is_none());
    }
}

fn list(text: &str) -> SourceSet {
    SourceSet::from_text("list.yaml", text)
}

fn tree(set: &SourceSet) -> &Tree {
    let mut trees = set.files[0]
        .documents
        .iter()
        .filter_map(|document| document.tree());
    let tree = trees.next().expect("the text contains no list");
    assert!(trees.next().is_none(), "several lists");
    tree
}

fn items(tree: &Tree) -> Vec<NodeRef<'_>> {
    let root = tree.root().expect("the list has no root");
    let items = root.get("items");
    items.map_or_else(Vec::new, |items| items.items().collect())
}

/// Checks that no item is lost, and that each is still the same object.
fn same_items(before: &str, after: &str) {
    let (before, after) = (list(before), list(after));
    let (old, new) = (items(tree(&before)), items(tree(&after)));
    if old.len() != new.len() {
        // With `emit: none`, a validator returns an empty list.
        assert!(
            new.is_empty() && before.files[0].text.contains("none"),
            "the input has {} items, and the output {}",
            old.len(),
            new.len()
        );
        return;
    }
    for (old, new) in old.into_iter().zip(new) {
        for key in ["apiVersion", "kind"] {
            let text = |item: NodeRef<'_>| item.get(key).and_then(NodeRef::text).map(str::to_owned);
            assert_eq!(text(old), text(new), "an item is another object");
        }
    }
}

/// Checks that a second call does not change an item.
fn same_texts(before: &str, after: &str) {
    let (before, after) = (list(before), list(after));
    let texts = |set| -> Vec<String> {
        let items = items(tree(set)).into_iter();
        items.map(|item| item.source().to_owned()).collect()
    };
    assert_eq!(
        texts(&before),
        texts(&after),
        "a second call changes an item"
    );
}
