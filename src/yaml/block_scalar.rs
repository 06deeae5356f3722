//! Where a block scalar ends, and what it reads as at the end of a file.

use super::span::Span;

/// Returns the place of a block scalar whose header is at `start` and which reads as `value`;
/// `behind` lies behind it, at the latest in the indentation of the next token.
pub(super) fn block_span(text: &str, value: &str, start: usize, behind: usize) -> Span {
    // A carriage return alone ends the header, too.
    let header_end = line_end(text, start).min(behind.max(start));
    let header = Span::new(start, header_end).slice(text);
    let header = header.split('#').next().unwrap_or_default();
    let last_line = value.trim_end_matches('\n').rsplit('\n').next();
    let last_line = last_line.unwrap_or_default();
    let blank_is_content = !last_line.is_empty() && last_line.trim().is_empty();
    let end = before_next_indentation(text, behind);
    let below = Span::new(header_end, end).slice(text);
    let kept = if header.contains('+') || blank_is_content {
        below.strip_suffix('\n').unwrap_or(below)
    } else {
        // Blanks at the end of the last line belong to the value.
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

/// The span of a block scalar may reach into the line of the next token.
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

/// A block scalar at the end of a file without final line break has none in its value:
/// go-yaml and libyaml read it so, the parser's family does not.
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
        // It is no line of the scalar, whose own last line has its break.
        return value;
    }
    value.strip_suffix('\n').unwrap_or(value)
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Returns by how much the `lines` of a block scalar are indented that are read as `value`.
fn indentation<'t>(lines: impl Iterator<Item = &'t str>, value: &str) -> usize {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut pairs = lines.zip(value.split('\n'));
    let first = pairs.find(|(_, content)| !content.is_empty());
    // A scalar of blank lines alone is as deep as the deepest of them.
    first.map_or(usize::MAX, |(line, content)| {
        spaces(line).saturating_sub(spaces(content))
    })
}

/// Returns the offset of the next line break from `at` on, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |found| at + found)
}
