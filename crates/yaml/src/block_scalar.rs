//! The spans of block scalars, and their values at the end of a file.

use super::span::Span;

/// Returns the span of a block scalar whose header is at `start` and whose value is `value`. `limit` is an offset after
/// the scalar, at the latest in the indentation of the next token.
pub(super) fn block_span(text: &str, value: &str, start: usize, limit: usize) -> Span {
    // A carriage return alone also ends the header.
    let header_end = line_end(text, start).min(limit.max(start));
    let header_line = Span::new(start, header_end).slice(text);
    let header = header_line.split('#').next().unwrap_or_default();
    let last_line = value
        .trim_end_matches('\n')
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let blank_is_content = !last_line.is_empty() && last_line.trim().is_empty();
    let end = before_next_indentation(text, limit);
    let below = Span::new(header_end, end).slice(text);
    let kept = if header.contains('+') || blank_is_content {
        below.strip_suffix('\n').unwrap_or(below)
    } else {
        // Blanks at the end of the last line are part of the value.
        let trimmed = below.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let line_end = line_end(text, header_end + trimmed).min(end);
        Span::new(header_end, line_end).slice(text)
    };
    let kept = kept.strip_suffix('\r').unwrap_or(kept);
    if kept.trim_matches(['\r', '\n']).is_empty() && !kept.contains('\n') {
        return Span::new(start, start + header.trim_end().len());
    }
    Span::new(start, header_end + kept.len())
}

/// Returns `end` without the indentation of the next token, which the span of a block scalar may include.
fn before_next_indentation(text: &str, end: usize) -> usize {
    let before = text.as_bytes().get(..end).unwrap_or_default();
    let line = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let line = before.get(line..).unwrap_or_default();
    let next = text.as_bytes().get(end);
    let inside = !matches!(next, None | Some(b'\r' | b'\n'));
    if inside && line.iter().all(|byte| *byte == b' ') {
        end - line.len()
    } else {
        end
    }
}

/// Returns the value of a block scalar without the final line break that granit-parser adds if the file ends without
/// one. go-yaml and libyaml do not add it.
pub(super) fn without_invented_break<'v>(text: &str, value: &'v str, place: Span) -> &'v str {
    let mut lines = place.slice(text).split('\n');
    let header = lines.next().unwrap_or_default();
    let header = header.split('#').next().unwrap_or_default();
    let at_end = place.end >= text.len() && !text.ends_with('\n');
    if !at_end || header.contains('-') {
        return value;
    }
    let last = lines.clone().next_back().unwrap_or_default();
    if is_blank(last) && last.len() <= indentation(lines, value) {
        // This line is not part of the scalar, whose last line has a line break.
        return value;
    }
    value.strip_suffix('\n').unwrap_or(value)
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Returns the indentation of the `lines` of a block scalar with the value `value`.
fn indentation<'t>(lines: impl Iterator<Item = &'t str>, value: &str) -> usize {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut pairs = lines.zip(value.split('\n'));
    let first = pairs.find(|(_, content)| !content.is_empty());
    // The indentation of a scalar that has only blank lines is that of the deepest line.
    first.map_or(usize::MAX, |(line, content)| {
        spaces(line).saturating_sub(spaces(content))
    })
}

/// Returns the offset of the next line break at or after `at`, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |found| at + found)
}
