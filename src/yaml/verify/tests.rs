//! What the referee lets pass, and what it refuses.

use super::*;
use crate::yaml::{Route, Value};

fn set(keys: &[&'static str], value: impl Into<Value>) -> Change {
    Change::Set {
        route: Route::keys(keys),
        value: value.into(),
    }
}

#[test]
fn the_intended_change_and_nothing_else() {
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
    for (after, words) in cases {
        assert_eq!(verify(before, &changes, after), Err(words.to_owned()));
    }
}

#[test]
fn removals_count_items_as_they_were() {
    let list = Route::keys(&["l"]);
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
fn words_of_the_older_dialect_count_as_what_kubernetes_reads() {
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
fn what_one_parser_alone_accepts_is_refused() {
    // libyaml takes no tab behind a dash, our parser does.
    let words = verify("a:\n-\tx\n", &[], "a:\n-\tx\n").unwrap_err();
    assert!(
        words.starts_with("the document is refused by the second parser"),
        "{words}"
    );
    let words = verify("a: 1\n", &[], "a: [1\n").unwrap_err();
    assert!(
        words.starts_with("the edited document is no YAML"),
        "{words}"
    );
    let words = verify("a: 1\na: 2\n", &[], "a: 1\na: 2\n").unwrap_err();
    assert!(words.contains("duplicate"), "{words}");
    assert!(verify("", &[], "a: 1\n").is_err());
}

/// kpt puts files into one list that use the same name for an anchor, each for itself.
#[test]
fn an_alias_means_the_nearest_anchor_above() {
    let before = "a: &x 1\nb: *x\nc: &x {k: 2}\nd:\n  <<: *x\n";
    let after = "a: &x 1\nb: *x\nc: &x {k: 2}\nd:\n  <<: *x\n  l: 3\n";
    assert_eq!(verify(before, &[set(&["d", "l"], 3)], after), Ok(()));
    let other = after.replace("b: *x", "b: &x 2");
    assert!(verify(before, &[set(&["d", "l"], 3)], &other).is_err());
    let moved = "c: &x {k: 2}\na: &x 1\nb: *x\nd:\n  <<: *x\n  l: 3\n";
    assert!(verify(before, &[set(&["d", "l"], 3)], moved).is_err());
}

#[test]
fn hostile_documents_are_refused_at_once() {
    let mut bomb = String::from("a0: &a0 [x]\n");
    for level in 1..40 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let words = verify(&bomb, &[], &bomb).unwrap_err();
    assert_eq!(words, "the document repeats too many nodes through aliases");
    let cycle = "a: &a\n  b: *a\n";
    assert!(verify(cycle, &[], cycle).is_err());
    let mut merges = String::from("a0: &a0 {k: v}\n");
    for level in 1..16 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        merges.push_str(&format!("a{level}: &a{level} {{<<: [{below}]}}\n"));
    }
    assert!(verify(&merges, &[], &merges).is_err());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let words = verify(&deep, &[], &deep).unwrap_err();
    assert_eq!(words, "the document nests deeper than 128");
}

#[test]
fn tags_and_byte_order_marks_are_read_alike() {
    let before = "\u{feff}a: !!str 5\nb: !custom {c: 1}\n";
    let after = "\u{feff}a: !!str 5\nb: !custom {c: 2}\n";
    let words = verify(before, &[set(&["b", "c"], 2)], after);
    assert_eq!(words, Err("there is no `b.c`".to_owned()));
    let after = "\u{feff}a: \"6\"\nb: !custom {c: 1}\n";
    assert_eq!(verify(before, &[set(&["a"], "6")], after), Ok(()));
}
