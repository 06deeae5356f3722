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
    "{?a: b}",
    "{a:b}",
    "{\"a\":1}",
    "x\u{2028}y",
    "\"x\u{85}y\"",
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
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "!!str ",
        "! ",
        "!x ",
        "!!int ",
        "!!binary ",
        "&x ",
        "!!map ",
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
        "# c\u{2028}  b: z",
        "[a,, b]",
        "@a",
        "%a",
        "!!str",
        "'it''s'",
        "\"\\u00e9\\/\"",
        "\u{feff}",
        "\t",
        "x\ty",
        "|\n   text\n  less",
    ]));
    let ending = prop_oneof![
        20 => Just("\n"), 1 => Just("\r\n"), 1 => Just("  \n"), 2 => Just("\n\n"), 1 => Just("\t\n")
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

/// Generates values of several lines, which start with any mixture of blanks and tabs.
pub(super) fn white_space() -> impl Strategy<Value = String> {
    let white = prop::sample::select(vec![
        "", " ", "   ", "      ", "      ", "\t", "\t", "\t ", " \t", "      \t", "      \t",
    ]);
    let content = prop::sample::select(vec!["a", "b c", "", "\\", "# d", "- e", "f: g", "h,"]);
    let line = (white, content).prop_map(|(white, content)| format!("{white}{content}"));
    let quotes = prop::sample::select(vec![
        ("\"", "\""),
        ("\"", "\""),
        ("'", "'"),
        ("&y \"", "\""),
        ("!!str '", "'"),
        ("[o, ", "]"),
        ("[i, \"", "\"]"),
        ("{j: '", "', k: \"\n\tl\"}"),
        ("- \"", "\""),
        ("\n    - &z '", "'"),
        ("m", ""),
        ("|\n      n", ""),
        (">-\n      n", ""),
        ("|2\n      \tn", ""),
    ]);
    let lines = prop::collection::vec(line, 1..7);
    let value = (quotes, lines)
        .prop_map(|((start, end), lines)| format!("{start}{}{end}", lines.join("\n")));
    let ending = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    (prop::collection::vec(value, 1..4), ending).prop_map(|(values, ending)| {
        let values = values.iter().enumerate();
        let entries: String = values
            .map(|(at, value)| format!("    k{at}: {value}\n"))
            .collect();
        format!("p:\n  q:\n{entries}r: s\n").replace('\n', ending)
    })
}

/// Generates mappings whose values are mostly well-formed.
fn tidy() -> impl Strategy<Value = String> {
    let property = prop::sample::select(vec![
        "",
        "",
        "",
        "",
        "",
        "",
        "!!str ",
        "! ",
        "!x ",
        "!!int ",
        "!!binary ",
        "!!map ",
        "!!float ",
    ]);
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
        "# c\u{2028}b: z",
        "# c\u{2028}# d",
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
        "a\tb",
        "!!set {a}",
    ]));
    let line = (property, value).prop_map(|(property, value)| format!("{property}{value}\n"));
    prop::collection::vec(line, 1..5).prop_map(|lines| {
        let lines = lines.iter().enumerate();
        let lines: String = lines.map(|(at, line)| format!("k{at}: {line}")).collect();
        format!("x: &x {{a: 1, b: [c]}}\n{lines}")
    })
}
