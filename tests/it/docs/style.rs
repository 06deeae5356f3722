//! The pages, and the comments and messages of `src`, avoid the phrases of `docs/style.md`.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use walkdir::WalkDir;

use crate::support::rust_code::crate_folders;

/// The locations of the pages, relative to the repository. A list, because other steps of the gate create files.
const PLACES: [&str; 10] = [
    "README.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ".github/pull_request_template.md",
    "packaging/README.md",
    "docs",
    "examples",
    "fixtures",
];

/// A phrase to avoid, and what to write instead.
struct Phrase {
    pattern: Regex,
    suggestion: &'static str,
}

/// Patterns for whole words, and the suggestions of `docs/style.md`.
const PHRASES: &[(&str, &str)] = &[
    (
        r"(?:there\s+)?(?:is|are|was|were)\s+no\s+[!-~]+",
        "`is not a …`",
    ),
    (r"mend(?:s|ed|ing)?", "`fix` or `apply`"),
    (r"told|said", "`reported` or `described`"),
    (
        r"ask(?:s|ed|ing)?\s+(?:(?:an?|the|that|this|its|which)\s+)?(?:agent|application|host|kubelet|mesh|port|sidecar)",
        "`targets`, `checks` or `sends a request to`",
    ),
    (r"(?:is|are)\s+asked", "`receives the request`"),
    (
        r"st(?:ands?|ood|anding)\s+(?:above|at|behind|below|between|beside|by|for|in|on|there|under|where)",
        "`is in` or `represents`",
    ),
    (r"as\s+(?:it|they)\s+stands?", "`unchanged`"),
    (
        r"l(?:ies?|ay|ying)\s+(?:above|at|behind|below|beside|between|in|next|on|outside|there|under|where|with)",
        "`is in`",
    ),
    (
        r"(?:no|some|any)body",
        "`no one`, `someone`, `anyone`, or the role",
    ),
    (r"who(?:m)?(?:so)?ever", "the role, such as `the user`"),
    (r"beside", "`next to` or `in addition to`"),
    (r"for\s+ever", "`forever`"),
    (r"in\s+vain", "`without effect`"),
    (r"seldom", "`rarely`"),
    (r"anew", "`again`"),
    (r"dear(?:er|est)?", "`expensive`"),
    (r"without\s+a\s+word", "`silently`"),
    (r"gone\s+from", "`removed from`"),
    (r"becomes?\s+of", "`the outcome of`"),
];

static COMPILED: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let compile = |(pattern, suggestion): &(&str, &'static str)| Phrase {
        pattern: Regex::new(&format!(r"(?i-u)\b(?:{pattern})")).unwrap(),
        suggestion,
    };
    PHRASES.iter().map(compile).collect()
});

/// Code in a sentence. It may continue on the next line, but not across an empty one.
static SPAN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`(?:[^`\n]|\n[^`\n])+`").unwrap());

/// Returns the phrases to avoid in a page, as `line: phrase: suggestion`.
fn violations(page: &str) -> Vec<String> {
    let prose = without_code(page);
    let mut found: Vec<(usize, String)> = Vec::new();
    for phrase in COMPILED.iter() {
        for hit in phrase.pattern.find_iter(&prose) {
            let is_word =
                !prose[hit.end()..].starts_with(|next: char| next.is_ascii_alphanumeric());
            if is_word && !is_allowed(hit.as_str()) {
                let line = prose[..hit.start()].matches('\n').count() + 1;
                let words: Vec<&str> = hit.as_str().split_whitespace().collect();
                found.push((
                    line,
                    format!("`{}`: write {}", words.join(" "), phrase.suggestion),
                ));
            }
        }
    }
    found.sort();
    let text = found
        .into_iter()
        .map(|(line, text)| format!("{line}: {text}"));
    text.collect()
}

/// Allows "there is no …", and "is no longer", "is no more than" and the like.
fn is_allowed(hit: &str) -> bool {
    let words: Vec<String> = hit.split_whitespace().map(str::to_lowercase).collect();
    let comparisons = [
        "longer", "more", "less", "fewer", "earlier", "later", "larger", "smaller",
    ];
    words.first().is_some_and(|first| first == "there")
        || words.iter().any(|word| word == "no")
            && words
                .last()
                .is_some_and(|last| comparisons.contains(&last.as_str()))
}

/// Replaces code with as many bytes of filler, so that lines and offsets stay the same.
fn without_code(page: &str) -> String {
    let mut text = page.to_owned();
    for block in code_blocks(page) {
        fill(&mut text, block, " ");
    }
    let spans: Vec<Range<usize>> = SPAN.find_iter(&text).map(|hit| hit.range()).collect();
    for span in spans {
        fill(&mut text, span, "x");
    }
    text
}

/// Returns the fenced blocks of a page.
fn code_blocks(page: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut at) = (None, 0);
    for line in page.split_inclusive('\n') {
        let end = at + line.len();
        // The text after an opening fence contains no backticks.
        let info = line.trim_start().strip_prefix("```");
        if info.is_some_and(|info| !info.contains('`')) {
            match start.take() {
                Some(start) => blocks.push(start..end),
                None => start = Some(at),
            }
        }
        at = end;
    }
    assert_eq!(start, None, "a fence is not closed");
    blocks
}

fn fill(text: &mut String, range: Range<usize>, filler: &str) {
    let filled: String = text[range.clone()]
        .split('\n')
        .map(|line| filler.repeat(line.len()))
        .collect::<Vec<_>>()
        .join("\n");
    text.replace_range(range, &filled);
}

/// Returns the paths of all pages, relative to the repository.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = PLACES
        .iter()
        .flat_map(|place| WalkDir::new(root.join(place)).sort_by_file_name());
    let paths = entries.map(|entry| {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap();
        path.to_string_lossy().replace('\\', "/")
    });
    paths.filter(|path| path.ends_with(".md")).collect()
}

#[test]
fn the_pages_avoid_the_phrases_of_the_style_guide() {
    let pages = pages();
    for expected in [
        "README.md",
        "SECURITY.md",
        "docs/style.md",
        "docs/rules/sops.md",
        "examples/README.md",
    ] {
        assert!(
            pages.iter().any(|page| page == expected),
            "{expected} is not checked"
        );
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        found.extend(
            violations(&text)
                .into_iter()
                .map(|line| format!("{page}:{line}")),
        );
    }
    assert!(found.is_empty(), "see docs/style.md\n{}", found.join("\n"));
}

/// Comments contain the text of `--help`, string literals the messages.
#[test]
fn comments_and_messages_avoid_the_phrases_of_the_style_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
    let (mut texts, mut found) = (0, Vec::new());
    let folders = crate_folders().into_iter();
    for entry in folders.flat_map(|folder| WalkDir::new(folder).sort_by_file_name()) {
        let entry = entry.unwrap();
        if entry.path().extension().is_none_or(|name| name != "rs") {
            continue;
        }
        let shown = entry.path().strip_prefix(root).unwrap().display();
        let source = std::fs::read_to_string(entry.path()).unwrap();
        for (number, line) in source.lines().enumerate() {
            let comment = line.trim_start().strip_prefix("//");
            let messages = literal
                .captures_iter(line)
                .filter(|_| comment.is_none())
                .map(|text| text.get(1).unwrap().as_str())
                .filter(|text| text.contains(' '));
            for text in comment.into_iter().chain(messages) {
                texts += 1;
                let faults = violations(text).into_iter();
                found.extend(faults.map(|fault| format!("{shown}:{}: {fault}", number + 1)));
            }
        }
    }
    assert!(texts > 5000, "{texts} texts");
    assert!(found.is_empty(), "see docs/style.md\n{}", found.join("\n"));
}

#[test]
fn a_planted_phrase_is_reported_with_its_line() {
    let page = "# Title\n\nA port\nis\nNo number.\n\nWhoever reads `told` is told.\n";
    let expected = [
        "4: `is No number.`: write `is not a …`",
        "7: `Whoever`: write the role, such as `the user`",
        "7: `told`: write `reported` or `described`",
    ];
    assert_eq!(violations(page), expected);
}

#[test]
fn code_and_plain_english_are_not_reported() {
    let page = "It is no longer there, and there is no other.\n\nBesides, `nobody` and `is\nno` are code.\n\n```sh\n\
                mend anew\n```\n\nA stand-in returns endearing items; no more than 5 are no more than 6.\n";
    assert_eq!(violations(page), [""; 0]);
}

/// The first column of the table in the guide contains the phrases as code.
#[test]
fn every_phrase_of_the_style_guide_is_checked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("docs/style.md")).unwrap();
    let (_, table) = guide
        .split_once("| instead of | write |\n|---|---|\n")
        .unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let mut phrases = 0;
    for row in rows {
        let first = row.split('|').nth(1).unwrap();
        for phrase in first.split('`').skip(1).step_by(2) {
            assert_eq!(violations(phrase).len(), 1, "`{phrase}`");
            phrases += 1;
        }
    }
    assert!(phrases >= PHRASES.len(), "{phrases} phrases");
}
