//! Edits that the referee accepts, and edits that it rejects.

use super::verify;
use crate::{Change, FieldPath, Value};

fn set(keys: &[&'static str], value: impl Into<Value>) -> Change {
    Change::Set {
        route: FieldPath::keys(keys),
        value: value.into(),
    }
}

#[test]
fn only_the_intended_change_is_accepted() {
    let before = "a: {b: 1} # c\nd: [x]\n";
    let changes = [set(&["a", "b"], 2)];
    assert_eq!(verify(before, &changes, "a: {b: 2} # c\nd: [x]\n"), Ok(()));
    let cases = [
        (before, "`a.b` would be 1 instead of 2"),
        (
            "a: {b: 2}\nd: [w]\n",
            "`d[0]` would be \"w\" instead of \"x\"",
        ),
        ("a: {b: 2}\n", "`d` would be lost"),
        ("a: {b: 2}\nd: [x]\ne: 1\n", "`e` would appear"),
        (
            "a: {b: 2}\nd: [x, x]\n",
            "`d` would have 2 items instead of 1",
        ),
        (
            "a: {b: \"2\"}\nd: [x]\n",
            "`a.b` would be \"2\" instead of 2",
        ),
    ];
    for (after, message) in cases {
        assert_eq!(verify(before, &changes, after), Err(message.to_owned()));
    }
}

#[test]
fn removals_refer_to_the_original_indices() {
    let list = FieldPath::keys(&["l"]);
    let changes = [
        Change::Remove {
            route: list.child(0),
        },
        Change::Set {
            route: list.child(2),
            value: "z".into(),
        },
        Change::Remove {
            route: list.child(1),
        },
        Change::Push {
            route: list,
            value: "m".into(),
        },
    ];
    assert_eq!(verify("l: [a, b, c]\n", &changes, "l: [z, m]\n"), Ok(()));
}

#[test]
fn scalars_of_yaml_1_1_have_the_value_that_kubernetes_reads() {
    let changes = [set(&["port"], 511), set(&["host"], Value::Bool(true))];
    assert_eq!(
        verify("port: 1\nhost: no\n", &changes, "port: 0777\nhost: yes\n"),
        Ok(())
    );
    let quoted = verify("port: 1\n", &[set(&["port"], 511)], "port: '0777'\n");
    assert!(quoted.is_err(), "{quoted:?}");
}

#[test]
fn merge_keys_are_applied_before_comparing() {
    let before = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc:\n  <<: [*b, {z: 3}]\n";
    let after = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc:\n  x: 1\n  y: 5\n  z: 3\n";
    assert_eq!(verify(before, &[set(&["c", "y"], 5)], after), Ok(()));
}

#[test]
fn documents_that_only_one_parser_accepts_are_refused() {
    // libyaml rejects a tab after a dash, our parser accepts it.
    let message = verify("a:\n-\tx\n", &[], "a:\n-\tx\n").unwrap_err();
    assert!(
        message.starts_with("the document is refused by the second parser"),
        "{message}"
    );
    let message = verify("a: 1\n", &[], "a: [1\n").unwrap_err();
    assert!(
        message.starts_with("the edited document is not YAML"),
        "{message}"
    );
    let message = verify("a: 1\na: 2\n", &[], "a: 1\na: 2\n").unwrap_err();
    assert!(message.contains("duplicate"), "{message}");
    assert!(verify("", &[], "a: 1\n").is_err());
}

/// kpt puts several files into one list, and each may define an anchor with the same name.
#[test]
fn an_alias_refers_to_the_nearest_anchor_above() {
    let before = "a: &x 1\nb: *x\nc: &x {k: 2}\nd:\n  <<: *x\n";
    let after = "a: &x 1\nb: *x\nc: &x {k: 2}\nd:\n  <<: *x\n  l: 3\n";
    assert_eq!(verify(before, &[set(&["d", "l"], 3)], after), Ok(()));
    let other = after.replace("b: *x", "b: &x 2");
    assert!(verify(before, &[set(&["d", "l"], 3)], &other).is_err());
    let moved = "c: &x {k: 2}\na: &x 1\nb: *x\nd:\n  <<: *x\n  l: 3\n";
    assert!(verify(before, &[set(&["d", "l"], 3)], moved).is_err());
}

#[test]
fn documents_that_multiply_or_nest_too_deep_are_refused() {
    let mut bomb = String::from("a0: &a0 [x]\n");
    for level in 1..40 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let message = verify(&bomb, &[], &bomb).unwrap_err();
    assert_eq!(
        message,
        "the document repeats too many nodes through aliases"
    );
    let cycle = "a: &a\n  b: *a\n";
    assert!(verify(cycle, &[], cycle).is_err());
    let mut merges = String::from("a0: &a0 {k: v}\n");
    for level in 1..16 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        merges.push_str(&format!("a{level}: &a{level} {{<<: [{below}]}}\n"));
    }
    assert!(verify(&merges, &[], &merges).is_err());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let message = verify(&deep, &[], &deep).unwrap_err();
    assert_eq!(message, "the document nests deeper than 128");
}

#[test]
fn both_parsers_read_tags_and_byte_order_marks_alike() {
    let before = "\u{feff}a: !!str 5\nb: !custom {c: 1}\n";
    let after = "\u{feff}a: !!str 5\nb: !custom {c: 2}\n";
    let message = verify(before, &[set(&["b", "c"], 2)], after);
    assert_eq!(message, Err("`b.c` does not exist".to_owned()));
    let after = "\u{feff}a: \"6\"\nb: !custom {c: 1}\n";
    assert_eq!(verify(before, &[set(&["a"], "6")], after), Ok(()));
}
