//! Recognition of templates: text with the tags of a template engine, which is not YAML before an engine fills it in.
//!
//! A text that cannot be parsed is a template only if its tags are the cause. A manifest with a syntax error and a
//! placeholder stays a manifest with a syntax error.

use std::sync::Arc;

use meshprobe_yaml as yaml;
use meshprobe_yaml::Span;

use crate::source::template_tags::{FoundTag, Surroundings, is_capitals, tag_at, tags};

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
    let mut at = 0;
    source.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let (offset, length, shown) = if let Some(word) = lone_word(line) {
            (line.find(word)?, word.len(), word)
        } else {
            let (before, _) = line.split_once(YTT_VALUE)?;
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
    let word = line.trim();
    let name = word.strip_prefix('$');
    let is_name = name.map_or_else(|| word.contains('_'), |name| !name.is_empty());
    (is_name && is_capitals(name.unwrap_or(word))).then_some(word)
}

fn is_comment(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('#')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use meshprobe_yaml::{Span, parse};

    use super::template_marker;

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
