//! Finds a field of a rendered object in the template that made it. A template is not YAML, but
//! most lines of it are: keys and their indentation say where a field stands.

use crate::source::document::Content;
use crate::source::file::SourceFile;
use crate::yaml::Span;

use super::hops::{Covers, Hop, Hops};

/// Tells whether the file must be read as lines.
pub(super) fn is_template(file: &SourceFile) -> bool {
    let mut documents = file.documents.iter();
    file.chart_template || documents.any(|one| matches!(one.content, Content::Template))
}

/// Returns the bytes of the field; of the key above it where an expression fills in all below.
/// `None` where there is no such line, or more than one.
pub(super) fn find(text: &str, hops: &Hops) -> Option<Span> {
    let lines = read(text);
    if let Some(Hop::Item { .. }) = hops.steps.last() {
        let named = Hop::Key("name".to_owned());
        let steps: Vec<Hop> = hops.steps.iter().cloned().chain([named]).collect();
        return match at(&lines, &steps) {
            Found::Once(line) => Some(line.key),
            Found::Never | Found::Often => None,
        };
    }
    let mut steps = hops.steps.as_slice();
    let mut found = at(&lines, steps);
    if let Found::Once(line) = found {
        let whole = Span::new(line.key.start, line.value.end.max(line.key.end));
        return Some(match hops.covers {
            Covers::Key => line.key,
            Covers::Entry => whole,
            Covers::Value if line.value.is_empty() => line.key,
            Covers::Value => line.value,
        });
    }
    while let (Found::Never, [rest @ .., _]) = (&found, steps) {
        steps = rest;
        found = at(&lines, steps);
    }
    let Found::Once(line) = found else {
        return None;
    };
    if let Some(Hop::Key(key)) = hops.steps.last()
        && let Some(span) = in_flow(text, line, key)
    {
        return Some(span);
    }
    is_filled_in(text, line).then_some(line.key)
}

/// A key of a mapping in braces, all on one line.
fn in_flow(text: &str, line: &Line, key: &str) -> Option<Span> {
    let value = line.value.slice(text);
    if !value.starts_with('{') || value.starts_with("{{") {
        return None;
    }
    let is_key = |at: &usize| {
        let before = value.get(..*at).unwrap_or_default().chars().next_back();
        let behind = value.get(at + key.len()..).unwrap_or_default();
        let behind = behind.trim_start_matches(['"', '\'']);
        before.is_some_and(|c| "{, \"'".contains(c)) && behind.starts_with(':')
    };
    let mut all = value.match_indices(key).map(|(at, _)| at).filter(is_key);
    let at = line.value.start + all.next()?;
    all.next().is_none().then(|| Span::new(at, at + key.len()))
}

/// A line with a key.
#[derive(Debug)]
struct Line {
    /// The way to it; items of lists count in the order of the template.
    steps: Vec<Part>,
    indent: usize,
    key: Span,
    value: Span,
}

/// One step of the way to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Key(String),
    /// The number of the item among all of the template.
    Item(usize),
}

#[derive(Debug)]
struct Lines {
    lines: Vec<Line>,
    /// The literal names of items.
    names: Vec<Option<String>>,
}

enum Found<'l> {
    Never,
    Once(&'l Line),
    Often,
}

fn at<'l>(lines: &'l Lines, steps: &[Hop]) -> Found<'l> {
    let rated = lines.lines.iter().filter_map(|line| {
        let rating = rating(lines, line, steps)?;
        Some((rating, line))
    });
    let mut best: Option<(usize, &Line, bool)> = None;
    for (rating, line) in rated {
        best = match best {
            Some((high, known, _)) if high > rating => Some((high, known, false)),
            Some((high, known, _)) if high == rating => Some((high, known, true)),
            _ => Some((rating, line, false)),
        };
    }
    match best {
        None => Found::Never,
        Some((_, line, false)) => Found::Once(line),
        Some((_, _, true)) => Found::Often,
    }
}

/// How many names on the way agree; `None` where the line is another field.
fn rating(lines: &Lines, line: &Line, steps: &[Hop]) -> Option<usize> {
    if line.steps.len() != steps.len() {
        return None;
    }
    let mut agree = 0;
    for (part, hop) in line.steps.iter().zip(steps) {
        match (part, hop) {
            (Part::Key(key), Hop::Key(wanted)) if key == wanted => {}
            (Part::Item(number), Hop::Item { name, .. }) => {
                match (lines.names.get(*number)?, name) {
                    (Some(known), Some(wanted)) if known == wanted => agree += 1,
                    (Some(_), Some(_)) => return None,
                    _ => {}
                }
            }
            _ => return None,
        }
    }
    Some(agree)
}

/// What a line stands in.
enum Frame {
    Key(usize, String),
    Item(usize, usize),
}

fn read(text: &str) -> Lines {
    let mut found = Lines {
        lines: Vec::new(),
        names: Vec::new(),
    };
    let mut frames: Vec<Frame> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let line = line.trim_end();
        let content = line.trim_start();
        if content.starts_with("---") {
            frames.clear();
            continue;
        }
        if content.is_empty() || content.starts_with('#') || content.starts_with("{{") {
            continue;
        }
        read_line(&mut found, &mut frames, at, line);
    }
    found
}

fn read_line(found: &mut Lines, frames: &mut Vec<Frame>, at: usize, line: &str) {
    let mut rest = line.trim_start();
    let mut indent = line.len() - rest.len();
    while let Some(item) = rest.strip_prefix("- ") {
        // A list may stand as far left as its key.
        while let Some(Frame::Key(left, _) | Frame::Item(left, _)) = frames.last() {
            let keeps = match frames.last() {
                Some(Frame::Key(..)) => *left <= indent,
                _ => *left < indent,
            };
            if keeps {
                break;
            }
            frames.pop();
        }
        frames.push(Frame::Item(indent, found.names.len()));
        found.names.push(None);
        rest = item.trim_start();
        indent = line.len() - rest.len();
    }
    let Some((key, value)) = entry(rest) else {
        return;
    };
    while let Some(Frame::Key(left, _) | Frame::Item(left, _)) = frames.last() {
        if *left < indent {
            break;
        }
        frames.pop();
    }
    if let (Some(Frame::Item(_, number)), "name", false) =
        (frames.last(), key, value.contains("{{"))
        && let Some(name) = found.names.get_mut(*number)
    {
        *name = Some(value.trim_matches(['"', '\'']).to_owned());
    }
    frames.push(Frame::Key(indent, key.to_owned()));
    let steps = frames.iter().map(|frame| match frame {
        Frame::Key(_, key) => Part::Key(key.clone()),
        Frame::Item(_, number) => Part::Item(*number),
    });
    let end = at + line.len();
    found.lines.push(Line {
        steps: steps.collect(),
        indent,
        key: Span::new(at + indent, at + indent + key.len()),
        value: Span::new(end - value.len(), end),
    });
}

/// A key and what stands behind it on the line.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let ends = value.is_empty() || value.starts_with([' ', '\t']);
    (ends && !key.is_empty() && key.chars().all(is_key)).then(|| (key, value.trim_start()))
}

/// Tells whether expressions, and nothing else, make what stands below a key.
fn is_filled_in(text: &str, line: &Line) -> bool {
    if !line.value.is_empty() {
        return line.value.slice(text).starts_with("{{");
    }
    let below = text.get(line.key.end..).unwrap_or_default();
    let mut expressions = 0;
    for next in below.lines().skip(1) {
        let content = next.trim_start();
        let indent = next.len() - content.len();
        if content.starts_with("{{") {
            expressions += usize::from(!is_control(content));
        } else if content.is_empty() || content.starts_with('#') {
            continue;
        } else {
            let is_below =
                indent > line.indent || indent == line.indent && content.starts_with('-');
            return !is_below && expressions > 0;
        }
    }
    expressions > 0
}

/// Branches and loops print nothing themselves.
fn is_control(expression: &str) -> bool {
    let words = expression.trim_start_matches("{{").trim_start_matches('-');
    let word = words.trim_start().split([' ', '}', '-']).next();
    let control = ["if", "else", "end", "with", "range", "define", "/*"];
    word.is_none_or(|word| control.contains(&word)) || words.trim_start().starts_with('$')
}
