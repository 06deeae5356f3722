//! Recognition of templates: text with the tags of a template engine, which is not YAML before an engine fills it in.
//!
//! A text that cannot be parsed is a template only if its tags are the cause. A manifest with a syntax error and a
//! placeholder stays a manifest with a syntax error.

use std::sync::Arc;

use memchr::memmem;

use crate::yaml;
use crate::yaml::Span;

/// A tag of a template engine: its start and its end.
struct Tag {
    open: &'static str,
    close: &'static str,
    /// Whether the tag ends on the line where it starts, and contains no white space.
    is_word: bool,
}

const fn tag(open: &'static str, close: &'static str) -> Tag {
    let is_word = false;
    Tag {
        open,
        close,
        is_word,
    }
}

const fn word(open: &'static str, close: &'static str) -> Tag {
    let is_word = true;
    Tag {
        open,
        close,
        is_word,
    }
}

/// The tags, each engine with its source: Go and Jinja templates (`{{`, `{%`, `{#`), ERB and EJS (`<%`), FreeMarker
/// (`<#`, `</#`), Terraform (`%{`, `${`), envsubst and Maven (`${`, `@NAME@`), Azure Pipelines (`#{`), scripts with sed
/// (`%%NAME%%`, `%NAME%`, `<NAME>`), Go templates with other delimiters (`[[`).
const TAGS: [Tag; 14] = [
    tag("{{", "}}"),
    tag("{%", "%}"),
    tag("{#", "#}"),
    tag("<%", "%>"),
    tag("<#", ">"),
    tag("</#", ">"),
    tag("[[", "]]"),
    word("%{", "}"),
    word("${", "}"),
    word("#{", "}#"),
    word("%%", "%%"),
    word("%", "%"),
    word("<", ">"),
    word("@", "@"),
];

/// The start of a value that ytt replaces. For YAML, it is a comment.
pub(in crate::source) const YTT_VALUE: &str = "#@ ";

/// Maximum length in bytes of the content of a tag.
const LONGEST: usize = 4_096;

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

/// Returns the first tag of a template engine in `source` that is not in a comment.
#[must_use]
pub fn template_marker(source: &str) -> Option<TemplateMarker> {
    let mut at = 0;
    source.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        marker_in(source, start, line)
    })
}

/// Returns whether the tags of a template are the reason why `source` is not YAML: it is YAML without them.
pub(in crate::source) fn is_template(source: &str, max_nodes: usize) -> bool {
    let Some(filled) = filled_in(source) else {
        return false;
    };
    let whole = Span::new(0, filled.len());
    yaml::parse_within(&Arc::from(filled), whole, max_nodes).is_ok()
}

fn marker_in(source: &str, start: usize, line: &str) -> Option<TemplateMarker> {
    if is_comment(line) {
        return None;
    }
    if let Some(word) = lone_word(line) {
        let at = start + line.find(word)?;
        return Some(TemplateMarker {
            span: Span::new(at, at + word.len()),
            shown: word.to_owned(),
        });
    }
    if let Some((before, _)) = line.split_once(YTT_VALUE)
        && before.trim_end().ends_with([':', '-'])
    {
        let at = start + before.len();
        return Some(TemplateMarker {
            span: Span::new(at, at + 2),
            shown: "#@ …".to_owned(),
        });
    }
    line.char_indices().find_map(|(offset, _)| {
        let at = start + offset;
        let (tag, _) = tag_at(source, at)?;
        Some(TemplateMarker {
            span: Span::new(at, at + tag.open.len()),
            shown: format!("{} … {}", tag.open, tag.close),
        })
    })
}

/// Returns the text with a value instead of each tag, and without the lines that contain only tags; `None` if all tags
/// are in comments.
fn filled_in(source: &str) -> Option<String> {
    if source.contains(REPLACED) {
        return None;
    }
    let replaced = replace_tags(source);
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

/// Returns the text with one character instead of each tag. Comments stay as they are.
fn replace_tags(source: &str) -> String {
    let mut replaced = String::with_capacity(source.len());
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let starts_line = replaced.is_empty() || replaced.ends_with('\n');
        if starts_line && is_comment(rest) {
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            replaced.push_str(rest.get(..end).unwrap_or_default());
            at += end;
        } else if let Some((_, length)) = tag_at(source, at) {
            replaced.push(REPLACED);
            at += length;
        } else {
            let char = rest.chars().next().unwrap_or_default();
            replaced.push(char);
            at += char.len_utf8();
        }
    }
    replaced
}

/// Returns the tag at an offset, and its length with its content.
fn tag_at(source: &str, at: usize) -> Option<(&'static Tag, usize)> {
    let rest = source.get(at..)?;
    if !rest.starts_with(['{', '<', '[', '%', '$', '#', '@']) {
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
        "%%" => !content.is_empty() && !content.contains(char::is_whitespace),
        _ => !content.is_empty() && !content.contains(['\n', '{']),
    }
}

/// Returns the word of a line that contains nothing else, and is not YAML for that reason: words in capitals that are
/// joined by underscores, such as `GENERATED_CONTAINERS`, or a variable, such as `$CONTAINERS`.
fn lone_word(line: &str) -> Option<&str> {
    let word = line.trim();
    let name = word.strip_prefix('$');
    let is_name = name.map_or_else(|| word.contains('_'), |name| !name.is_empty());
    (is_name && is_capitals(name.unwrap_or(word))).then_some(word)
}

fn is_capitals(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.bytes().all(is_part) && text.bytes().filter(u8::is_ascii_uppercase).count() > 1
}

fn is_comment(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '\t']);
    text.starts_with('#') && !text.starts_with("#{")
}

#[cfg(test)]
mod tests {
    use super::{is_template, template_marker};

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
        ] {
            assert!(is_template(text, usize::MAX), "{text}");
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
            "\u{e000}\n<% a %>\n",
        ] {
            assert!(!is_template(text, usize::MAX), "{text}");
        }
        assert_eq!(shown("# ${X}\na: 1\n"), None);
    }
}
