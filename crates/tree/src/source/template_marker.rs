//! Recognition of templates: text with the tags of a template engine, which is not YAML before an engine fills it in.
//!
//! A text that cannot be parsed is a template only if its tags are the cause. A manifest with a syntax error and a
//! placeholder stays a manifest with a syntax error.
//!
//! The tags of template engines in a text, with their surroundings in YAML.

use std::sync::Arc;

use memchr::memmem;
use meshprobe_yaml as yaml;
use meshprobe_yaml::Span;

/// The start of a value that ytt replaces. For YAML, it is a comment.
const YTT_VALUE: &str = "#@ ";

/// Character of the private use area that replaces a tag.
const REPLACED: char = '\u{e000}';

/// The first tag of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateMarker {
    /// The bytes of its start.
    pub span: Span,
    /// How it is shown: `<% … %>`, or a word such as `GENERATED_CONTAINERS`.
    pub shown: String,
}

/// Returns the first tag of a template engine in `source` that is not in a comment. Prefers tags that are not in
/// quotes.
#[must_use]
pub fn template_marker(source: &str) -> Option<TemplateMarker> {
    let tags = tags(source);
    let is_quoted = |tag: &&FoundTag| matches!(tag.surroundings, Surroundings::Quotes(_));
    let unquoted = tags.iter().find(|tag| !is_quoted(tag)).map(marker);
    let in_lines = marker_without_end(source);
    let first = unquoted.into_iter().chain(in_lines);
    first
        .min_by_key(|marker| marker.span.start)
        .or_else(|| tags.first().map(marker))
}

fn marker(found: &FoundTag) -> TemplateMarker {
    let (open, close) = (found.tag.open, found.tag.close);
    TemplateMarker {
        span: Span::new(found.start, found.start + open.len()),
        shown: format!("{open} … {close}"),
    }
}

/// Returns whether the tags of a template are the reason for the error at `offset` of `source`: it is YAML without
/// them, or a statement precedes the error.
pub(in crate::source) fn is_template(source: &str, offset: usize, max_nodes: usize) -> bool {
    let tags = tags(source);
    has_cause(source, &tags, offset) || is_yaml_without_tags(source, &tags, max_nodes)
}

/// Returns whether text behind a key that is YAML's comment is a value for another tool.
pub(in crate::source) fn is_value_in_comment(comment: &str) -> bool {
    comment.starts_with(YTT_VALUE) || tag_at(comment, 0).is_some_and(|(tag, _)| tag.open == "#{")
}

/// Returns whether a tag can be the cause of an error at `offset`: a statement, or several lines, may replace it.
///
/// Without rendering, a document with both branches of a condition may not be YAML. A tag in a comment, in quotes or in
/// a block scalar is not a cause, unless it contains quotes itself.
fn has_cause(source: &str, tags: &[FoundTag], offset: usize) -> bool {
    let behind = source.get(offset..).unwrap_or_default();
    let line_end = offset + behind.find('\n').unwrap_or(behind.len());
    let before = source.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let is_cause = |found: &&FoundTag| match found.surroundings {
        Surroundings::Node => true,
        Surroundings::Plain => found.end > line_start,
        Surroundings::Quotes(quote) => source
            .get(found.start..found.end)
            .is_some_and(|tag| tag.contains(quote)),
        Surroundings::BlockScalar => false,
    };
    tags.iter()
        .filter(|found| found.tag.is_block)
        .take_while(|found| found.start <= line_end)
        .any(|found| is_cause(&found))
}

fn is_yaml_without_tags(source: &str, tags: &[FoundTag], max_nodes: usize) -> bool {
    let Some(filled) = filled_in(source, tags) else {
        return false;
    };
    let whole = Span::new(0, filled.len());
    yaml::parse_within(&Arc::from(filled), whole, max_nodes).is_ok()
}

/// Returns the first line that contains only a word, or a value of ytt.
fn marker_without_end(source: &str) -> Option<TemplateMarker> {
    let has_value = source.contains(YTT_VALUE);
    let mut at = 0;
    source.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let (offset, length, shown) = if let Some(word) = lone_word(line) {
            (line.find(word)?, word.len(), word)
        } else {
            let (before, _) = has_value.then(|| line.split_once(YTT_VALUE))??;
            let is_value = before.trim_end().ends_with([':', '-']) && !is_comment(line);
            is_value.then_some((before.len(), 2, "#@ …"))?
        };
        Some(TemplateMarker {
            span: Span::new(start + offset, start + offset + length),
            shown: shown.to_owned(),
        })
    })
}

/// Returns the text with a value instead of each tag, and without the lines that contain only tags; `None` if all tags
/// are in comments.
fn filled_in(source: &str, tags: &[FoundTag]) -> Option<String> {
    if source.contains(REPLACED) {
        return None;
    }
    let replaced = replace(source, tags);
    let mut filled = String::with_capacity(replaced.len());
    let mut has_tags = false;
    for line in replaced.split_inclusive('\n') {
        let is_tag_line = line.contains(REPLACED)
            && line
                .chars()
                .all(|char| char == REPLACED || char.is_whitespace());
        if is_tag_line || lone_word(line).is_some() {
            has_tags = true;
            filled.push('\n');
        } else {
            has_tags |= line.contains(REPLACED);
            filled.push_str(&line.replace(REPLACED, "x"));
        }
    }
    has_tags.then_some(filled)
}

/// Returns the text with one character instead of each tag.
fn replace(source: &str, tags: &[FoundTag]) -> String {
    let mut replaced = String::with_capacity(source.len());
    let mut at = 0;
    for found in tags {
        replaced.push_str(source.get(at..found.start).unwrap_or_default());
        replaced.push(REPLACED);
        at = found.end;
    }
    replaced.push_str(source.get(at..).unwrap_or_default());
    replaced
}

/// Returns the word of a line that contains nothing else, and is not YAML for that reason: words in capitals that are
/// joined by underscores, such as `GENERATED_CONTAINERS`, or a variable, such as `$CONTAINERS`.
fn lone_word(line: &str) -> Option<&str> {
    let word = line.trim_ascii();
    if !word.starts_with(|first: char| first == '$' || is_of_name(first)) {
        return None;
    }
    let name = word.strip_prefix('$');
    let is_name = name.map_or_else(|| word.contains('_'), |name| !name.is_empty());
    (is_name && is_capitals(name.unwrap_or(word))).then_some(word)
}

fn is_comment(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('#')
}

/// A tag of a template engine: its start and its end.
pub(super) struct Tag {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether the tag ends on the line where it starts, and its content is one value.
    is_word: bool,
    /// Whether the tag can contain a statement, which does not become a value.
    pub(super) is_block: bool,
}

const fn block(open: &'static str, close: &'static str) -> Tag {
    Tag {
        open,
        close,
        is_word: false,
        is_block: true,
    }
}

const fn word(open: &'static str, close: &'static str) -> Tag {
    Tag {
        open,
        close,
        is_word: true,
        is_block: false,
    }
}

/// The tags, each engine with its source: Go and Jinja templates (`{{`, `{%`, `{#`), ERB and EJS (`<%`), FreeMarker
/// (`<#`, `</#`), Terraform (`%{`, `${`), envsubst and Maven (`${`, `@NAME@`), Azure Pipelines (`#{ … }#`), Octopus
/// Deploy (`#{`), scripts with sed (`%%NAME%%`, `%NAME%`, `<NAME>`), Go templates with other delimiters (`[[`).
const TAGS: [Tag; 15] = [
    block("{{", "}}"),
    block("{%", "%}"),
    block("{#", "#}"),
    block("<%", "%>"),
    block("<#", ">"),
    block("</#", ">"),
    // Lists of lists start in the same way, so the tag alone does not explain an error.
    word("[[", "]]"),
    Tag {
        open: "%{",
        close: "}",
        is_word: true,
        is_block: true,
    },
    word("${", "}"),
    word("#{", "}#"),
    word("#{", "}"),
    word("%%", "%%"),
    word("%", "%"),
    word("<", ">"),
    word("@", "@"),
];

/// The first characters of tags.
const STARTS: [char; 7] = ['{', '<', '[', '%', '$', '#', '@'];

/// Maximum length in bytes of the content of a tag.
const LONGEST: usize = 4_096;

/// What contains a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// Nothing: a node starts with the tag.
    Node,
    Plain,
    Quotes(char),
    BlockScalar,
}

/// A tag in a text.
pub(super) struct FoundTag {
    pub(super) tag: &'static Tag,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) surroundings: Surroundings,
}

/// Returns the tags of a text that are not in comments.
pub(super) fn tags(source: &str) -> Vec<FoundTag> {
    // Most texts contain none. What contains a tag need not be known then.
    let mut starts = source.match_indices(STARTS);
    if !starts.any(|(at, _)| tag_at(source, at).is_some()) {
        return Vec::new();
    }
    let mut scanner = Scanner {
        source,
        ..Scanner::default()
    };
    let mut found = Vec::new();
    while let Some(rest) = source.get(scanner.at..).filter(|rest| !rest.is_empty()) {
        if scanner.skips_comment(rest) {
            continue;
        }
        let Some((tag, length)) = tag_at(source, scanner.at) else {
            scanner.step(rest);
            continue;
        };
        let start = scanner.at;
        let end = start + length;
        found.push(FoundTag {
            tag,
            start,
            end,
            surroundings: scanner.surroundings(),
        });
        scanner.at = end;
    }
    found
}

/// Returns the tag at an offset, and its length with its content.
pub(super) fn tag_at(source: &str, at: usize) -> Option<(&'static Tag, usize)> {
    let rest = source.get(at..)?;
    if !rest.starts_with(STARTS) {
        return None;
    }
    TAGS.iter().find_map(|tag| {
        let inner = rest.strip_prefix(tag.open)?;
        let bytes = inner.as_bytes();
        let bytes = bytes.get(..LONGEST.min(bytes.len()))?;
        let end = memmem::find(bytes, tag.close.as_bytes())?;
        let content = inner.get(..end)?;
        let is_tag = !tag.is_word || is_word(tag, content);
        is_tag.then_some((tag, tag.open.len() + end + tag.close.len()))
    })
}

/// Returns whether the content of a tag is the name of a variable, or an expression on one line.
fn is_word(tag: &Tag, content: &str) -> bool {
    match tag.open {
        "@" | "%" | "<" => is_capitals(content),
        // `#{a: b}` is a comment in YAML.
        "%%" | "#{" => !content.is_empty() && !content.contains(char::is_whitespace),
        _ => !content.is_empty() && !content.contains(['\n', '{']),
    }
}

pub(super) fn is_capitals(text: &str) -> bool {
    text.chars().all(is_of_name) && text.bytes().filter(u8::is_ascii_uppercase).count() > 1
}

const fn is_of_name(char: char) -> bool {
    char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_'
}

/// Reads YAML that need not be valid, to find out what contains a tag.
#[derive(Default)]
struct Scanner<'t> {
    source: &'t str,
    at: usize,
    /// Start of the line.
    line: usize,
    quote: Option<char>,
    /// Indentation of the parent of a block scalar.
    block: Option<usize>,
}

impl Scanner<'_> {
    fn surroundings(&self) -> Surroundings {
        if let Some(quote) = self.quote {
            return Surroundings::Quotes(quote);
        }
        if self.is_in_block() {
            return Surroundings::BlockScalar;
        }
        match self.is_node_start() {
            true => Surroundings::Node,
            false => Surroundings::Plain,
        }
    }

    fn before(&self) -> &str {
        self.source.get(self.line..self.at).unwrap_or_default()
    }

    /// Returns whether a node, or a token in quotes, can start here.
    fn is_node_start(&self) -> bool {
        let before = self.before().trim_end();
        let is_separated = before.len() < self.before().len();
        before.is_empty()
            || before.ends_with(['[', '{', ','])
            || is_separated && before.ends_with([':', '-', '?'])
    }

    fn is_in_block(&self) -> bool {
        let line = self.source.get(self.line..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let indentation = line.len() - line.trim_start_matches(' ').len();
        self.block
            .is_some_and(|parent| line.trim().is_empty() || indentation > parent)
    }

    /// Skips a comment. Returns whether one starts here.
    fn skips_comment(&mut self, rest: &str) -> bool {
        let is_comment = rest.starts_with('#')
            && self.quote.is_none()
            && (self.before().is_empty() || self.before().ends_with([' ', '\t']))
            && !self.is_in_block()
            && tag_at(self.source, self.at).is_none_or(|(tag, _)| tag.open != "#{");
        if is_comment {
            self.end_line(rest);
        }
        is_comment
    }

    /// Proceeds behind one character.
    fn step(&mut self, rest: &str) {
        let mut chars = rest.chars();
        let Some(char) = chars.next() else {
            return;
        };
        let next = chars.next();
        match (self.quote, char) {
            (None, '\n') => return self.end_line(rest),
            (_, '\n') => self.line = self.at + 1,
            (Some('"'), '\\') | (Some('\''), '\'') if char == '\\' || next == Some('\'') => {
                self.at += next.map_or(0, char::len_utf8);
            }
            (Some(quote), _) if quote == char => self.quote = None,
            (None, '"' | '\'') if self.is_node_start() && !self.is_in_block() => {
                self.quote = Some(char);
            }
            _ => {}
        }
        self.at += char.len_utf8();
    }

    /// Proceeds to the next line, which may be the first one of a block scalar.
    fn end_line(&mut self, rest: &str) {
        if !self.is_in_block() {
            self.block = block_parent(self.before());
        }
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        self.line = self.at;
    }
}

/// Returns the indentation of the parent of the block scalar that starts at the end of a line.
fn block_parent(line: &str) -> Option<usize> {
    let text = line.trim_end();
    let header = text.rsplit([' ', '\t']).next()?;
    let indicators = header.strip_prefix(['|', '>'])?;
    let before = text.strip_suffix(header)?.trim_end();
    let last = before.rsplit([' ', '\t']).next()?;
    let is_header = indicators
        .bytes()
        .all(|byte| b"+-123456789".contains(&byte))
        && (last.ends_with([':', '-']) || last.starts_with(['!', '&']));
    if !is_header {
        return None;
    }
    let key = before.trim_start_matches([' ', '-']);
    let dashes = before.strip_suffix(key)?;
    match key.is_empty() {
        // The item of a list is the block scalar.
        true => dashes.rfind('-'),
        false => Some(dashes.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use meshprobe_yaml::{Span, parse};

    use super::*;

    fn is_template(text: &str) -> bool {
        let text: Arc<str> = text.into();
        parse(&text, Span::new(0, text.len()))
            .is_err_and(|error| super::is_template(&text, error.offset, usize::MAX))
    }

    fn shown(text: &str) -> Option<String> {
        template_marker(text).map(|marker| marker.shown)
    }

    #[test]
    fn a_text_that_only_its_tags_break_is_a_template() {
        for (text, marker) in [
            ("a: 1\n<% if b %>\nb: 2\n<% end %>\n", "<% … %>"),
            ("a: 1\n{% if b %}\nb: {% x %}\n{% endif %}\n", "{% … %}"),
            ("image: %{image}\n", "%{ … }"),
            ("image: %%IMAGE%%\n", "%% … %%"),
            ("image: @IMAGE@\n", "@ … @"),
            ("a: 1\n${EXTRA}\n", "${ … }"),
            ("a: 1\n$EXTRA\n", "$EXTRA"),
            (
                "a:\n  b: 1\n  GENERATED_CONTAINERS\n",
                "GENERATED_CONTAINERS",
            ),
            ("# ${X}\na: 1\n<%= x %>\n", "<% … %>"),
            ("a: \"{{ x \"y\" }}\"\n", "{{ … }}"),
            ("a: |\n  b\n{{ x }}\nc: 1\n", "{{ … }}"),
            // Both branches of a condition are not YAML together.
            (
                "a:\n{% if b %}\n  - b\n{% else %}\n  c: 1\n{% endif %}\n",
                "{% … %}",
            ),
            ("a: {{ b }}\n  c: 1\n", "{{ … }}"),
            ("a: b {{ c }}: d\n", "{{ … }}"),
            ("a: '{{ b }}'\n{{ c }}\n", "{{ … }}"),
        ] {
            assert!(is_template(text), "{text}");
            assert_eq!(shown(text).as_deref(), Some(marker), "{text}");
        }
    }

    #[test]
    fn a_text_with_another_error_is_not_a_template() {
        for text in [
            "a: [\n",
            "a: ${X}\nb: [\n",
            "a: 1\nEOF\n",
            "a: 1\nWORD\n",
            "# <% no %>\na: [\n",
            "a: \"${X}\nb: 1\n",
            "a: 1\n%{b\n",
            "a: %%\n",
            "\u{e000}\n${X}\n",
            "# {{ b }}\na: [\n",
            "a: 1 # {{ b }}\nb: [\n",
            "a: \"{{ b }}\"\nb: [\n",
            "a: 'it''s {{ b }}'\nb: [\n",
            "a: \"\\\"{{ b }}\"\nb: [\n",
            "a: |\n  {{ b }}\n  # {{ c }}\nb: [\n",
            "- - a: >-\n      {{ b }}\n    b: [\n",
            "- |\n {{ b }}\n- [\n",
            "a: b-{{ c }}\nb: [\n",
            "a: [\n# {{ b }}\n",
            "a: b\n  c: d\ne: {{ f }}\n",
            "a: 1 # <% b\nb: [\n# %>\n",
            "a: [[1, 2\nb: c]]\n",
        ] {
            assert!(!is_template(text), "{text}");
        }
        assert_eq!(shown("# ${X}\na: 1\n"), None);
    }
}
