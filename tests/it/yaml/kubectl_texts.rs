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

/// Generates lines that separate documents, or resemble such lines, between documents and comments.
pub(super) fn separators() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "---",
        "---",
        "---",
        "---",
        "--- # c",
        "---# c",
        "---#c",
        "---\t# c",
        "---\t",
        "---  ",
        "...",
        "...",
        "...",
        "... # c",
        "...# c",
        "...\t",
        "... x",
        "...x",
        "----",
        "--- x",
        "---x",
        "--- {a: b}",
        "--- |",
        "---\u{a0}",
        "%YAML 1.1",
        "%YAML 1.2 # c",
        "%TAG ! !a",
        "%",
        "# c",
        "# c",
        " # c",
        "",
        "",
        " ",
        "a: b",
        "a: b",
        "a: b",
        "c: [d]",
        "e: |\n  f",
        "- g",
        "\"h\": i",
        "---: a",
        "a: \"b\n---c\"",
        "a: \"b\n...\"",
        "a: b\n  ---",
        "[j]",
        "k",
    ]);
    let mark = prop::sample::select(vec!["", "", "", "", "\u{feff}"]);
    let ending = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\r\n"]);
    let parts = (mark, prop::collection::vec(line, 1..8), ending);
    parts.prop_map(|(mark, lines, ending)| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{mark}{text}").replace('\n', ending)
    })
}

/// Generates flow collections, quoted scalars and block scalars with comments that touch their tokens.
pub(super) fn comments() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "[",
        "[",
        "{",
        "]",
        "]",
        "}",
        ",",
        ",",
        "a",
        "b c",
        "\"d\"",
        "'e'",
        "\"f\n g\"",
        "h: i",
        "\"j\": k",
        "\"l\":",
        "m:",
        ":",
        "?",
        "? n",
        "&o p",
        "!!str q",
        "*x",
        "&r",
        "- s",
        "|\n   t",
        ">-",
        "|2\n     n",
        "u\n  v",
        "w#",
        "\"y\"z",
    ]);
    let gap = prop::sample::select(vec![
        "",
        "",
        "",
        " ",
        " ",
        "# c\n  ",
        "# c\n  ",
        "#\n",
        " # c\n  ",
        "# \"'[{\n   ",
        "\n  ",
        "\t# c\n ",
    ]);
    let part = (token, gap).prop_map(|(token, gap)| format!("{token}{gap}"));
    let free = prop::collection::vec(part, 1..7).prop_map(|parts| parts.concat());
    let gap = || prop::sample::select(vec!["", " ", "# c\n  ", "#\n  ", " # c\n  ", "# \"'\n  "]);
    let item = prop::sample::select(vec![
        "a",
        "\"b\"",
        "'c'",
        "[]",
        "{}",
        "{d: e}",
        "[f]",
        "\"g\n  h\"",
        "i: j",
        "\"k\": l",
        "&m n",
        "*x",
    ]);
    let list = (
        gap(),
        prop::collection::vec((gap(), item, gap()), 0..4),
        gap(),
    )
        .prop_map(|(first, items, last)| {
            let items = items.iter();
            let items: String = items
                .map(|(before, item, behind)| format!("{before}{item}{behind},"))
                .collect();
            format!("[{first}{items}{last}]")
        });
    let lone = prop::sample::select(vec![
        "\"a\"",
        "'b'",
        "\"c\n  d\"",
        "|\n  e",
        ">-",
        "|2\n     n",
        "{a: b}",
        "[]",
        "*x",
        "&y z",
        "!!str a",
        "a b",
        "\"e\nf\"",
    ]);
    let value = prop_oneof![2 => free, 3 => list, 2 => lone.prop_map(str::to_owned)];
    let entry = (
        value,
        prop::sample::select(vec!["", "# c", "#", " # c", "#\"", "\t#"]),
    )
        .prop_map(|(value, comment)| format!("{value}{comment}\n"));
    prop::collection::vec(entry, 1..4).prop_map(|entries| {
        let entries = entries.iter().enumerate();
        let entries: String = entries
            .map(|(at, entry)| format!("k{at}: {entry}"))
            .collect();
        format!("x: &x 1\n{entries}")
    })
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
        "\"a\n\tb\"",
        "a#\"b",
        "a #\"b",
        "-\"a\n",
        "?\"a",
        "\"a\nb\"# c",
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
