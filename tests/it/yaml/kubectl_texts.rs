//! Generated texts in the styles that YAML parsers disagree on.

use proptest::prelude::*;

/// Values that all generators use.
const COMMON: &[&str] = &[
    "x",
    "x y",
    "'q'",
    "\"q\\t\"",
    "[a, {b: c}]",
    "{}",
    "x # c",
    "*x",
    "0777",
    "yes",
    "1_000",
    "~",
    "08",
    "0b11",
    ".inf",
    "1e3",
    "2024-01-02",
    "{a:b}",
    "{\"a\":1}",
    "L3I=",
    "{a: b, }",
    "a#b",
    "-1",
    "+.5",
    "1:30",
    "=",
    "NULL",
];

fn with_common(others: &[&'static str]) -> Vec<&'static str> {
    [COMMON, others].concat()
}

/// Generates lines of mappings and sequences, in the styles that parsers disagree on.
pub(super) fn texts() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec![0usize, 0, 0, 1, 2, 2, 2, 4]);
    let opening = prop::sample::select(vec!["", "", "", "- ", "? ", "-   ", ": "]);
    let key = prop::sample::select(vec![
        "", "", "a: ", "b: ", "'c': ", "\"d\" : ", "on: ", "0x1: ", "<<: ", "e f: ", "1.5: ",
        "~x: ",
    ]);
    let property = prop::sample::select(vec![
        "", "", "", "", "", "", "", "", "!!str ", "!x ", "&x ", "!!map ",
    ]);
    let value = prop::sample::select(with_common(&[
        "",
        "|",
        "|-",
        ">",
        ">+",
        "|2",
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
        "<<",
        "[? a : b]",
        "{<<: *x}",
        "[*x, *x]",
        "[a,, b]",
        "@a",
        "%a",
        "!!str",
        "'it''s'",
        "\"\\u00e9\\/\"",
        "|\n   text\n  less",
    ]));
    let ending = prop_oneof![
        20 => Just("\n"), 1 => Just("\r\n"), 1 => Just("  \n"), 2 => Just("\n\n")
    ];
    let parts = (indent, opening, key, property, value, ending);
    let line = parts.prop_map(|(indent, opening, key, property, value, ending)| {
        format!("{:indent$}{opening}{key}{property}{value}{ending}", "")
    });
    let first = prop::sample::select(vec!["", "x: &x {a: 1, b: [c]}\n", "k:\n", "[", "{"]);
    let messy = (first, prop::collection::vec(line, 1..7))
        .prop_map(|(first, lines)| format!("{first}{}", lines.concat()));
    prop_oneof![1 => messy, 3 => tidy()]
}

/// Generates quoted scalars that continue at any column, between other scalars that contain quotes.
pub(super) fn outdented() -> impl Strategy<Value = String> {
    let property = prop::sample::select(vec![
        "",
        "",
        "&y ",
        "!!str ",
        "\n        ",
        "&z\n    ",
        "# it's\n      ",
    ]);
    let value = prop::sample::select(vec![
        "\"a\nb\"",
        "'a\n\n  b'",
        "\"a\n      b\n c\"",
        "'it''s\n# a'",
        "\"a\\\nb\"",
        "\"\na\n\"",
        "\"a # \nb\"",
        "|\n      it's \"a\n      # b'\n\n        \"c",
        ">-\n      \"a\n     b'",
        "|1\n       \"a",
        "|\n\n\n        'a",
        "can't\n      \"b' c",
        "a \"b\n      \"c\n      d\"",
        "a\n      'b\n      c'",
        "[a \"b,\n \"c\nd\"]",
        "{a: 'b\nc',\n \"d\": \"\"}",
        "\n    - \"a\n  b\"\n    - 'c\nd'",
        "\n    - - \"a\nb\"\n      - c: \"d\ne\"",
        "\n      ? \"a\"\n      : \"b\nc\"",
        "*x",
        "a: \"b\nc\"",
        "\"a\nb\" c",
        "\"a\nb",
        "'a",
        "a#\"b",
        "a #\"b",
        "-\"a\n",
        "?\"a",
        "\"a\" \"b",
    ]);
    let comment = prop::sample::select(vec![
        "",
        "",
        "",
        " # it's",
        " # \"",
        "\n  # can't\n",
        "\n# \"a",
        "\n\n",
    ]);
    let entry = (property, value, comment)
        .prop_map(|(property, value, comment)| format!("{property}{value}{comment}\n"));
    let opening = prop::sample::select(vec!["p:\n  q:\n", "p:\n- q: &r\n", "- - p:\n"]);
    (opening, prop::collection::vec(entry, 1..6)).prop_map(|(opening, entries)| {
        let entries = entries.iter().enumerate();
        let entries: String = entries
            .map(|(at, entry)| format!("    k{at}: {entry}"))
            .collect();
        format!("{opening}    x: &x 1\n{entries}")
    })
}

/// Generates mappings whose values are mostly well-formed.
fn tidy() -> impl Strategy<Value = String> {
    let property = prop::sample::select(vec!["", "", "", "", "", "", "!!str ", "!x ", "!!map "]);
    let value = prop::sample::select(with_common(&[
        "",
        "|\n  text\n",
        "|-\n   a\n  b\n",
        ">\n  a\n  b\n",
        "'one\ntwo'",
        "'one\n\n  two'",
        "\"one\n  two\"",
        "\"one\\\ntwo\"",
        "[a,\n b]",
        "{a: 1,\n  b: 2}",
        "\n- a\n- 'b\nc'",
        "\n  <<: *x\n  a: 2",
        "\n  a: 2\n  <<: *x",
        "\n  a: 1\n  <<: *x",
        "[*x, *x]",
        "{<<: *x, b: 1}",
        "\"\\u00e9\"",
        "one\n  two",
        "one\n\n two # c",
        "\n  ? a\n  : b",
        "0x1F",
        "0o17",
        "-0",
        "1.",
        "12345678901234567890",
        "123456789012345678901234567890",
        "?x",
        ":x",
        "x:y",
        "!!set {a}",
    ]));
    let line = (property, value).prop_map(|(property, value)| format!("{property}{value}\n"));
    prop::collection::vec(line, 1..5).prop_map(|lines| {
        let lines = lines.iter().enumerate();
        let lines: String = lines.map(|(at, line)| format!("k{at}: {line}")).collect();
        format!("x: &x {{a: 1, b: [c]}}\n{lines}")
    })
}
