//! Documents with two readings, and similar documents with one.

use std::sync::Arc;

use crate::{AmbiguityKind, Span, ambiguities, hidden_in_comments, parse};

fn found(text: &str) -> Vec<(AmbiguityKind, String)> {
    let text: Arc<str> = text.into();
    let tree = parse(&text, Span::new(0, str::len(&text))).unwrap();
    ambiguities(&tree.unwrap())
        .into_iter()
        .map(|ambiguity| (ambiguity.kind, ambiguity.span.slice(&text).to_owned()))
        .collect()
}

fn messages(text: &str) -> Vec<String> {
    let text: Arc<str> = text.into();
    let tree = parse(&text, Span::new(0, str::len(&text))).unwrap();
    let found = ambiguities(&tree.unwrap()).into_iter();
    found.map(|ambiguity| ambiguity.message).collect()
}

#[track_caller]
fn assert_unambiguous(text: &str) {
    let found = found(text);
    assert!(found.is_empty(), "{text}: {found:?}");
}

#[test]
fn content_hidden_in_comments_is_reported() {
    let hidden = |text: &str| hidden_in_comments(text, Span::new(0, text.len())).is_some();
    for text in ["# a\u{2028}b: c\n", "# a\u{85}- b", "# a\u{2029}b: [\n"] {
        assert!(hidden(text), "{text}");
    }
    for text in ["# a\u{2028}# b\n", "# a\n", "", "# a\u{2028}\n"] {
        assert!(!hidden(text), "{text}");
    }
}

#[test]
fn line_breaks_of_yaml_1_1_are_reported_if_they_hide_content() {
    for mark in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let text = format!("a: 8080 # usual{mark}b: HTTPS\n");
        assert_eq!(
            found(&text),
            [(AmbiguityKind::HiddenSyntax, mark.to_string())]
        );
        assert_unambiguous(&format!("a: 1 # one{mark}# two\n"));
    }
    let quoted = "a: \"one\u{85}two\" # \u{2028} b: c\nd: e\u{2029}f\n";
    assert_eq!(
        found(quoted),
        [(AmbiguityKind::HiddenSyntax, "\u{2028}".to_owned())]
    );
    assert_unambiguous("\u{feff}a: caf\u{e9} \u{2026} \u{ff01}\n");
}

#[test]
fn question_marks_that_touch_a_key_are_reported() {
    assert_eq!(
        found("a: {b: 1, ?c: 2}\n"),
        [(AmbiguityKind::HiddenSyntax, "?".to_owned())]
    );
    assert_unambiguous("a: {b: x?y, c: \"?\", ? d : e}\nf: ?g\n");
}

#[test]
fn anchors_whose_names_end_earlier_for_libyaml_are_reported() {
    assert_eq!(
        found("a: &x?b\n  c\n"),
        [(AmbiguityKind::HiddenSyntax, "&x?b".to_owned())]
    );
    assert_unambiguous("a: &x-1_y b\nc: *x-1_y\n");
}

#[test]
fn merge_keys_after_keys_that_they_override_are_reported() {
    let base = "x: &x {path: /h, port: 8080, list: [a, {b: c}]}\n";
    let with = |rest: &str| found(&format!("{base}{rest}"));
    assert_eq!(
        with("y:\n  path: /r\n  <<: *x\n"),
        [(AmbiguityKind::MergeOrder, "path".to_owned())]
    );
    assert_eq!(
        with("y: {list: [a, {b: d}], <<: [{q: r}, *x]}\n"),
        [(AmbiguityKind::MergeOrder, "list".to_owned())]
    );
    assert_eq!(
        with("y:\n  <<: {port: 1}\n  <<: *x\n"),
        [(AmbiguityKind::MergeOrder, "port".to_owned())]
    );
    for fine in [
        "y:\n  <<: *x\n  path: /r\n",
        "y:\n  path: /h\n  list: [a, {\"b\": c}]\n  <<: *x\n",
        "y:\n  other: /r\n  <<: *x\n",
        "y:\n  path: /r\n  \"<<\": *x\n",
    ] {
        assert_unambiguous(&format!("{base}{fine}"));
    }
}

#[test]
fn tags_that_change_a_value_are_reported() {
    let tag = |text: &str| vec![(AmbiguityKind::Tag, text.to_owned())];
    assert_eq!(found("a: !!binary L3I=\n"), tag("!!binary L3I="));
    assert_eq!(found("a: ! 8080\n"), tag("! 8080"));
    let core = "a: !!str 1\nb: !!int \"2\"\nc: !x 3\nd: ! text\ne: !!map {f: g}\nh: !!float 1.5\n";
    assert_unambiguous(core);
}

#[test]
fn merge_keys_that_multiply_each_other_are_reported() {
    let mut text = String::from("a0: &a0 {k: v}\n");
    for level in 1..16 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} {{k: w, <<: [{below}]}}\n"));
    }
    assert!(!found(&text).is_empty());
}

#[test]
fn a_question_mark_in_a_text_is_not_ambiguous() {
    let brackets = "[(?:x), [?!y]] ".repeat(3_000);
    for text in [
        format!("rules: |\n  {brackets}\n"),
        format!("rules: '{brackets}'\nother: [a]\n"),
    ] {
        assert_eq!(messages(&text), Vec::<String>::new());
    }
    assert_eq!(messages("{?a: b}\n").len(), 1);
}

#[test]
fn brackets_in_texts_do_not_count_towards_the_limit() {
    let other = "other: {?a: b}";
    for text in [
        format!("rules: |\n  {}\n{other}\n", "[".repeat(5_000)),
        // Both parsers read the same brackets.
        format!("rules: [{}]\n{other}\n", "[],".repeat(5_000)),
    ] {
        let found = messages(&text);
        assert!(
            found.len() == 1 && found[0].contains("is read differently"),
            "{found:?}"
        );
    }
    let text = format!("rules: [{}]\nother: a\u{2028}b\n", "[],".repeat(5_000));
    let found = messages(&text);
    assert!(
        found.len() == 1 && found[0].contains("does not compare the readings"),
        "{found:?}"
    );
}
