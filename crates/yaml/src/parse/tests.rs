use std::sync::Arc;

use crate::{FieldPath, NodeRef, Span, Tree, parse, parse_fully};

fn tree(text: &str) -> Tree {
    parse(&Arc::from(text), Span::new(0, text.len()))
        .unwrap()
        .unwrap()
}

fn at<'t>(tree: &'t Tree, keys: &[&'static str]) -> NodeRef<'t> {
    tree.root().unwrap().at(&FieldPath::keys(keys)).unwrap()
}

#[test]
fn spans_exclude_white_space_and_comments_around_values() {
    let tree = tree(
        "a:\n- x: 1\n  y:\n- 2\nb: |-\n  hello\n  w\n\nd: &x # c\n  e: f # g\n\nl: {p: , q: [1, 2]}\n",
    );
    assert_eq!(at(&tree, &["a"]).source(), "- x: 1\n  y:\n- 2");
    assert_eq!(at(&tree, &["b"]).source(), "|-\n  hello\n  w");
    assert_eq!(at(&tree, &["b"]).text(), Some("hello\nw"));
    assert_eq!(at(&tree, &["d"]).source(), "e: f");
    assert_eq!(
        at(&tree, &["d"]).outer_span().slice(tree.text()),
        "&x # c\n  e: f"
    );
    assert_eq!(at(&tree, &["l"]).source(), "{p: , q: [1, 2]}");
    let empty = at(&tree, &["l", "p"]).span();
    assert_eq!(
        tree.text().get(..empty.start).map(|t| t.ends_with("{p:")),
        Some(true)
    );
    let dashes: Vec<_> = at(&tree, &["a"]).items().map(NodeRef::indicator).collect();
    assert_eq!(dashes, [Some(3), Some(15)]);
    let second = tree
        .root()
        .unwrap()
        .get("a")
        .unwrap()
        .item(0)
        .unwrap()
        .get("y")
        .unwrap();
    assert_eq!(second.span(), Span::empty(14));
    assert!(second.is_null());
}

#[test]
fn a_block_scalar_at_the_end_of_a_file_has_no_line_break_if_the_file_has_none() {
    assert_eq!(at(&tree("a: |\n  x"), &["a"]).text(), Some("x"));
    assert_eq!(at(&tree("a: |\n  x\n"), &["a"]).text(), Some("x\n"));
    assert_eq!(at(&tree("a: |+\n  x\n\n"), &["a"]).text(), Some("x\n\n"));
    assert_eq!(at(&tree("a: |+\n  x\n\n"), &["a"]).source(), "|+\n  x\n");
    assert_eq!(at(&tree("a: |\n  x\n  "), &["a"]).text(), Some("x\n"));
    assert_eq!(at(&tree("a: |\n  x\n   "), &["a"]).text(), Some("x\n "));
    assert_eq!(at(&tree("a: |+\n  x\n  "), &["a"]).text(), Some("x\n"));
    assert_eq!(at(&tree("a: |+\n  x\n\n "), &["a"]).text(), Some("x\n\n"));
    assert_eq!(at(&tree("a: |2\n    \n\n  "), &["a"]).text(), Some("  \n"));
    assert_eq!(at(&tree("a: > # b-c\n  x"), &["a"]).text(), Some("x"));
}

#[test]
fn block_scalars_end_before_the_next_token() {
    let cases = [
        ("a:\n  c: |+\n    x\n\n  b: 1\n", "|+\n    x\n"),
        ("a:\n  c: |+\r\n    x\r\n\r\n  b: 1\n", "|+\r\n    x\r\n"),
        ("a:\n  c: |\n    x\n\n  b: 1\n", "|\n    x"),
        (
            "a:\n  c: |  # c\n    x  \n  # d\n  b: 1\n",
            "|  # c\n    x  ",
        ),
        ("a:\n  c: |+\n\n\n  b: 1\n", "|+\n\n"),
        ("a:\n  c: | # c\n\n\n  b: 1\n", "|"),
        ("a:\n  c: >+\n  b: 1\n", ">+"),
    ];
    for (text, expected) in cases {
        assert_eq!(at(&tree(text), &["a", "c"]).source(), expected, "{text:?}");
    }
}

#[test]
fn anchored_sequences_start_at_their_dash() {
    let tree = tree("a: &a-b\n- x: 1\nb: &b !t\n  - 2\n");
    assert_eq!(at(&tree, &["a"]).source(), "- x: 1");
    assert_eq!(at(&tree, &["b"]).source(), "- 2");
    let dashes: Vec<_> = at(&tree, &["a"]).items().map(NodeRef::indicator).collect();
    assert_eq!(dashes, [Some(8)]);
}

#[test]
fn aliases_and_merge_keys_are_followed() {
    let tree = tree("b: &b {k: v, z: 0}\nm:\n  <<: *b\n  z: 1\nn: *b\n");
    assert_eq!(at(&tree, &["m", "k"]).text(), Some("v"));
    assert_eq!(at(&tree, &["m", "z"]).text(), Some("1"));
    assert_eq!(at(&tree, &["n", "z"]).text(), Some("0"));
}

#[test]
fn errors_have_an_offset_in_the_file() {
    let text: Arc<str> = Arc::from("---\na: b\n---\nc: [1\nd: 2\n");
    let error = parse(&text, Span::new(9, text.len())).unwrap_err();
    assert!(error.offset >= 13, "{error:?}");
}

#[test]
fn quoted_scalars_may_continue_at_any_indentation() {
    let text = "\u{feff}a: &x \"one\n two\nthree\" # c\nb: *x\nc:\n- ? 'd\n\ne'\n  : !t 'f\ng'\n- {h: 'i\nj'}\nk: l\n";
    let tree = tree(text);
    let root = tree.root().unwrap();
    assert_eq!(at(&tree, &["b"]).text(), Some("one two three"));
    assert_eq!(at(&tree, &["a"]).source(), "\"one\n two\nthree\"");
    let pair = root.get("c").unwrap().item(0).unwrap();
    let pair = pair.entries().next().unwrap();
    assert_eq!(
        (pair.key.text(), pair.key.source()),
        (Some("d\ne"), "'d\n\ne'")
    );
    assert_eq!(
        (pair.value.text(), pair.value.source()),
        (Some("f g"), "'f\ng'")
    );
    assert_eq!(pair.value.outer_span().slice(text), "!t 'f\ng'");
    assert_eq!(at(&tree, &["k"]).source(), "l");
    let many = "- !t 'a\nb'\n".repeat(100);
    assert!(parse(&Arc::from(&*many), Span::new(0, many.len())).is_ok());
    let broken = "a: !t 'b\nc'\n d: [\n";
    let error = parse_fully(&Arc::from(broken), Span::new(0, broken.len())).unwrap_err();
    assert!(error.offset > 11, "{error:?}");
}
