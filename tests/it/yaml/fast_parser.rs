//! The fast parser returns what the full parser returns, or declines.

use std::path::Path;
use std::sync::Arc;

use meshprobe::source::SourceSet;
use meshprobe::yaml::{Span, parse_fast, parse_fully};
use proptest::prelude::*;

/// Returns whether the fast parser reads a document. Panics if its result differs from that of the full parser.
fn read(text: &Arc<str>, segment: Span) -> bool {
    let Some(fast) = parse_fast(text, segment) else {
        return false;
    };
    let shown = segment.slice(text);
    let full = parse_fully(text, segment);
    let full =
        full.unwrap_or_else(|error| panic!("the fast parser misses an error: {error:?}\n{shown}"));
    let full = full.unwrap_or_else(|| panic!("the full parser reads no content\n{shown}"));
    if fast != full {
        assert_eq!(format!("{fast:#?}"), format!("{full:#?}"), "{shown}");
        panic!("the trees differ, but their debug output does not: {shown}");
    }
    true
}

/// Texts that the fast parser must read.
const ORDINARY: &[&str] = &[
    "a: b",
    "a: b\n",
    "\u{feff}# c\n---  # c\na: b # c\n\n# c\n...\n# c\n",
    "a:\r\n- b\r\n-\r\n  c: |\r\n    x\r\n    y\r\n  d:\r\n",
    "a:\n- b: 1\n  c:\n  -\n  - - d\n    - e\n  -   - f\n\n\nz:\n",
    "- a\n-\n- # c\n- b:\n-\n  - c\n",
    "a: x#y -z :b c:d ?e\nb: -1\nc: --f\nd: ~\n\"e\" : 'it''s' # c\n'f': \"\\t\\x41\\u00e9\"\n",
    "a: one\n  two\n\n\n   - three # c\nb:\n  four\n  five\n",
    "a: 'one\ntwo'\nb:\n- \"three\n four\n\nfive\" # c\n- c: 'six\n  seven'\n",
    "a: 'one\n\n  two'\nb: \"one\\\n   \\ two\n  three\\n\n  \"\n",
    "a: |\n  x\n   y  \n\n  z\nb: |-\n\n   x\n\nc: >+ # c\n  x\n  y\n\n   z\n\n# c\nd: |\n x",
    "a: |\n  x\n  ",
    "a: |+\n  x\n    \n\n",
    "a: |\n  x\n  \ty\n",
    "- |\n x\n- >-\n x\n y\n",
    "a: {}\nb: []\nc: {d: , e: f, 'g': [h, {i: j}],}\nk: [a,\n  b # c\n  , c\n  ]\n",
    "{\n\"a\":1, \"b\": [true , null],\n \"c\":{}\n}\n",
    "[]",
    "é: ü\u{1f600}\n",
    "a: {b: <<}\n<<: c\n",
];

/// Texts that the fast parser declines: those on which parsers disagree, rare ones, and invalid ones.
const DECLINED: &[&str] = &[
    "",
    "# c\n",
    "text",
    "a: b: c\n",
    "\"a\":b\n",
    "a: 'b' c\n",
    "a: 'b'# c\n",
    "a: 'b\n",
    "a: - b\n",
    "a: b\n c: d\n",
    "a: b # c\n c\n",
    "a:\n  b: c\n d: e\n",
    "a: b\n- c\n",
    "- a\nb: c\n",
    "a: &b c\n",
    "a: *b\n",
    "a: !b c\n",
    "? a\n",
    "%YAML 1.2\n---\na: b\n",
    "--- a\n",
    "a: b\n---\nc: d\n",
    "a: b\n...\nc: d\n",
    "a:\tb\n",
    "a: b\t# c\n",
    "\ta: b\n",
    "a:\n\t- b\n",
    "-\tb\n",
    "a: |2\n   x\n",
    "a: |\n    \n  x\n",
    "a: |\nb: c\n",
    "a: |x\n  x\n",
    "a: |\n  \tx\n",
    "a: \"\\q\"\n",
    "a: \"b\\ \n  c\"\n",
    "a: \"\\ud83d\\ude00\"\n",
    "a: {b: c} d\n",
    "a: [b\n",
    "a: [b,\nc]\n",
    "a: [b c\n  d]\n",
    "a: [b: c]\n",
    "a: [-]\n",
    "{a: b}: c\n",
    "a: b\rc: d\n",
    "a: b\u{85}\n",
    "a: b\u{2028}\n",
    "a: \u{feff}b\n",
    "a: \u{1}\n",
    "a: \u{7f}\n",
];

#[test]
fn ordinary_yaml_is_read() {
    for text in ORDINARY {
        assert!(reads(text), "declined: {text:?}");
    }
}

#[test]
fn unusual_yaml_is_declined() {
    for text in DECLINED {
        assert!(!reads(text), "read: {text:?}");
    }
}

#[test]
fn long_keys_and_deep_nodes_are_declined() {
    let key = |length: usize| format!("{}: b\n", "a".repeat(length));
    assert!(reads(&key(1000)));
    assert!(!reads(&key(1001)));
    let blocks = |depth: usize| format!("{}a\n", "- ".repeat(depth));
    assert!(reads(&blocks(200)));
    assert!(!reads(&blocks(201)));
    let flow = |depth: usize| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
    assert!(reads(&flow(64)));
    assert!(!reads(&flow(65)));
    assert!(!reads(&flow(100_000)));
}

/// A document ends before the next one, and offsets are those of the file.
#[test]
fn documents_of_a_stream_are_read() {
    let text = "a: |\n  x\n---\nb: 'c'\n--- # c\n- d\n";
    assert_eq!(documents(text), (3, 3));
}

fn reads(text: &str) -> bool {
    read(&Arc::from(text), Span::new(0, text.len()))
}

/// Returns how many documents a file has, and how many of them the fast parser reads.
fn documents(text: &str) -> (usize, usize) {
    let set = SourceSet::from_text("file.yaml", text);
    let file = set.files.first().unwrap();
    let parsed = file.documents.iter().filter(|document| {
        parse_fully(&file.text, document.segment).is_ok_and(|tree| tree.is_some())
    });
    let all: Vec<_> = parsed.collect();
    let fast = all
        .iter()
        .filter(|document| read(&file.text, document.segment));
    (all.len(), fast.count())
}

#[test]
fn both_parsers_read_the_fixtures_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let (mut manifests, mut fast) = (0, 0);
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.unwrap();
        let ending = entry.path().extension().and_then(|ending| ending.to_str());
        if !matches!(
            ending,
            Some("yaml" | "yml" | "json" | "snap" | "tpl" | "txt")
        ) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(entry.path()) else {
            continue;
        };
        let (all, taken) = documents(&text);
        if text.contains("apiVersion:") {
            manifests += all;
            fast += taken;
        }
    }
    assert!(manifests > 1000, "{manifests}");
    assert!(fast * 100 >= manifests * 95, "{fast} of {manifests}");
}

/// Parts of lines: tokens of the grammar, and text that resembles them.
const PIECES: &[&str] = &[
    "a",
    "key",
    "b c",
    "1",
    "-1",
    "--x",
    "-",
    "- ",
    "- - ",
    "- - -",
    "-   ",
    "? ",
    "?x",
    ": ",
    ":",
    "a: ",
    "a:",
    "a : ",
    "key:value",
    "a: b",
    "a: b: c",
    "\"a\": b",
    "\"a\":b",
    "'a' : b",
    "'it''s'",
    "''",
    "\"\"",
    "'open",
    "\"open",
    "\"a\\n\\\"\\u00e9\\x41\"",
    "\"\\",
    "\\\"",
    "\"a\\",
    "'a",
    "b'",
    "b\"",
    "# c",
    " # c",
    "#c",
    " #",
    "x#y",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "[a, b]",
    "{a: b}",
    "{}",
    "[]",
    "{a: , b: }",
    "{\"a\":1}",
    "[a: b]",
    "[-1, - ]",
    "-]",
    "\\ ",
    "*x",
    "&x ",
    "&x",
    "!t ",
    "!!str ",
    "<<: ",
    "<<",
    "%",
    "%YAML 1.2",
    "@",
    "`",
    "---",
    "--- ",
    "---x",
    "...",
    "... ",
    "|",
    ">",
    "|-",
    "|+",
    ">-",
    ">+",
    "|2",
    "|-1",
    "a: |",
    "a: >-",
    "- |",
    "a: |+",
    "\t",
    " ",
    "  ",
    "    ",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "\u{7f}",
    "\u{1}",
    "~",
    "null",
    "=",
    "|x",
    ">x",
    "- a: b",
    "- 'a': b",
    "- [a, b]",
    "- {a: b}",
    "- # c",
    "a: # c",
    "a: 'b",
    "a: \"b",
    "a: [b,",
    "a: {b: c,",
    "'a\\'",
    "a: - b",
    "'a': |",
];

fn lines() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES);
    let pieces = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    let ending = prop_oneof![
        20 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r"), 1 => Just(" \n"), 1 => Just("\n\n")
    ];
    let line = (0usize..7, pieces, ending)
        .prop_map(|(indent, pieces, ending)| format!("{:indent$}{pieces}{ending}", ""));
    prop::collection::vec(line, 1..12).prop_map(|lines| lines.concat())
}

/// Generates mostly well-formed lines, so that the fast parser reads long texts.
fn tidy() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec![0usize, 0, 1, 2, 2, 2, 3, 4, 4, 6]);
    let opening = prop::sample::select(vec!["", "", "", "- ", "- - ", "-   "]);
    let key = prop::sample::select(vec!["", "", "a: ", "b:  ", "'c': ", "\"d\" : ", "e f: "]);
    let value = prop::sample::select(vec![
        "",
        "",
        "x",
        "x y",
        "'q'",
        "\"q\\t\"",
        "|",
        "|-",
        ">",
        ">+",
        "|+",
        "[a, {b: c}]",
        "{}",
        "x # c",
        "# c",
        "'open",
        "close'",
        "\"open",
        "close\"",
        "{a: [b,",
        "c]}",
        "\"a\\",
        "x:y",
        "-",
    ]);
    let ending = prop_oneof![12 => Just("\n"), 1 => Just("\r\n"), 1 => Just("  \n"), 2 => Just("\n\n"), 1 => Just("\n   \n")];
    let line =
        (indent, opening, key, value, ending).prop_map(|(indent, opening, key, value, ending)| {
            format!("{:indent$}{opening}{key}{value}{ending}", "")
        });
    let last = prop::sample::select(vec!["", "", "z", "  z: 1", "   ", "# c", "..."]);
    (prop::collection::vec(line, 1..9), last)
        .prop_map(|(lines, last)| format!("a:\n{}{last}", lines.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn both_parsers_read_random_lines_alike(text in lines()) {
        reads(&text);
    }

    #[test]
    fn both_parsers_read_tidy_lines_alike(text in tidy()) {
        reads(&text);
    }
}
