//! Draws the regions of a diagnostic with miette. Long lines are cut, and control characters are escaped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meshprobe_mesh::finding::{Label, Severity};
use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml::Span;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents, ThemeStyles,
};

use super::escape::{escape_control, push_escaped_control};
use super::terminal_style::TerminalStyle;
use meshprobe_engine::engine::source_location;

/// Returns the lines of the regions with their labels. The primary label has the colour of the severity, the deciding one is
/// bold, and the others are faint.
pub(super) fn drawn(
    regions: Vec<ExcerptRegion>,
    severity: Severity,
    style: TerminalStyle,
) -> String {
    let frames = Frames::new(regions);
    if frames.regions.is_empty() {
        return String::new();
    }
    let mut theme = match (style.unicode, style.color) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::ascii(),
        (false, false) => GraphicalTheme::none(),
    };
    if style.color {
        theme.styles = label_styles(&frames, severity);
    }
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(style.width);
    let mut drawn = String::new();
    match handler.render_report(&mut drawn, &frames) {
        // The first line is the message of miette, which is empty because `header` writes the message.
        Ok(()) => drawn
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.to_owned()),
        Err(fmt::Error) => String::new(),
    }
}

/// Returns the styles of a theme, with one highlight per label: miette assigns the highlights to the labels in the order of
/// their offsets.
fn label_styles(frames: &Frames, severity: Severity) -> ThemeStyles {
    let mut styles = ThemeStyles::ansi();
    let bold = styles.highlights.first().copied().unwrap_or_default();
    let of_severity = match severity {
        Severity::Error => styles.error,
        Severity::Warning => styles.warning,
        Severity::Note => styles.advice,
    };
    let mut marks: Vec<(usize, LabelRole)> = frames
        .marks()
        .map(|(offset, mark)| (offset, mark.role))
        .collect();
    marks.sort_by_key(|(offset, _)| *offset);
    styles.highlights = marks
        .into_iter()
        .map(|(_, role)| match role {
            LabelRole::Primary => of_severity,
            LabelRole::Deciding => bold,
            LabelRole::Related => styles.linum,
        })
        .collect();
    styles
}

/// The regions of any number of files as one diagnostic. They are one source for miette: each region starts at its own
/// offset, and a span cannot exceed the end of a region.
#[derive(Debug)]
struct Frames {
    regions: Vec<(usize, ExcerptRegion)>,
}

impl Frames {
    fn new(regions: Vec<ExcerptRegion>) -> Self {
        let mut base = 0;
        let placed = regions.into_iter().map(|region| {
            let start = base;
            base += region.text.len() + 1;
            (start, region)
        });
        Self {
            regions: placed.collect(),
        }
    }

    /// Returns the labels with their offsets.
    fn marks(&self) -> impl Iterator<Item = (usize, &Mark)> {
        self.regions.iter().flat_map(|(base, region)| {
            region
                .marks
                .iter()
                .map(move |mark| (base + mark.span.start, mark))
        })
    }

    fn region(&self, span: &SourceSpan) -> Option<(usize, &ExcerptRegion)> {
        let end = span.offset() + span.len();
        let (base, region) = self
            .regions
            .iter()
            .find(|(base, region)| *base <= span.offset() && end <= base + region.text.len())?;
        Some((*base, region))
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Frames {}

impl Diagnostic for Frames {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.marks().map(|(offset, mark)| {
            let text = (!mark.message.is_empty()).then(|| mark.message.clone());
            let span = (offset, mark.span.len());
            if mark.role == LabelRole::Primary {
                LabeledSpan::new_primary_with_span(text, span)
            } else {
                LabeledSpan::new_with_span(text, span)
            }
        });
        Some(Box::new(labels))
    }
}

impl SourceCode for Frames {
    /// Returns the region that contains `span`. miette requests a span without context lines only to print the line and
    /// column above a region, so these are the position in the file.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (base, region) = self.region(span).ok_or(MietteError::OutOfBounds)?;
        let in_region = Span::new(span.offset() - base, span.offset() + span.len() - base);
        let mark = region.marks.iter().find(|mark| mark.span == in_region);
        let (line, column) = match mark {
            Some(Mark { line, column, .. }) if before == 0 => (line - 1, column - 1),
            _ => (region.first_line - 1, 0),
        };
        Ok(Box::new(MietteSpanContents::new_named(
            region.path.clone(),
            region.text.as_bytes(),
            (base, region.text.len()).into(),
            line,
            column,
            region.text.lines().count(),
        )))
    }
}

/// The number of lines that are shown before and after the line of the finding. The related lines have no context, because
/// there may be many.
const AROUND: usize = 1;

/// The number of lines between two shown lines of a file that are shown as well.
const GAP: usize = 2;

/// The number of characters before the mark that are kept in a cut line.
const LEAD: usize = 24;

/// Consecutive lines of one file, as shown.
#[derive(Debug)]
pub(super) struct ExcerptRegion {
    pub(super) path: String,
    /// The number of the first line, from 1.
    pub(super) first_line: usize,
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
}

/// A label, as shown.
#[derive(Debug)]
pub(super) struct Mark {
    /// The byte range in the text of the region.
    pub(super) span: Span,
    /// The line in the file, from 1.
    pub(super) line: usize,
    /// The column in the file, from 1.
    pub(super) column: usize,
    pub(super) message: String,
    pub(super) role: LabelRole,
}

/// The role of a label in a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelRole {
    /// The key or value at fault.
    Primary,
    /// The line that decides the verdict.
    Deciding,
    /// Another line that the verdict depends on.
    Related,
}

/// A label to show, with its text.
#[derive(Clone, Debug)]
pub(super) struct ExcerptLabel<'l> {
    pub(super) label: &'l Label,
    pub(super) text: String,
    pub(super) role: LabelRole,
}

/// Returns the regions of a diagnostic: those with primary labels first, then those of the other labels in order. Lines are
/// cut to `width` characters.
pub(super) fn excerpt_regions(
    set: &SourceSet,
    labels: &[ExcerptLabel<'_>],
    width: usize,
) -> Vec<ExcerptRegion> {
    let mut files: Vec<(&SourceFile, LabelsByLine<'_>)> = Vec::new();
    for label in labels {
        let file = set.file(&label.label.path);
        let Some(file) = file.filter(|file| !file.text.is_empty()) else {
            continue;
        };
        let line = file.line_of(label.label.span);
        match files.iter_mut().find(|(known, _)| known.path == file.path) {
            Some((_, lines)) => lines.entry(line).or_default().push(label),
            None => files.push((file, BTreeMap::from([(line, vec![label])]))),
        }
    }
    let mut regions: Vec<ExcerptRegion> = files
        .iter()
        .flat_map(|(file, lines)| of_file(set, file, lines, labels.first(), width))
        .collect();
    regions.sort_by_key(|region| {
        !region
            .marks
            .iter()
            .any(|mark| mark.role == LabelRole::Primary)
    });
    regions
}

/// The labels of a file by the number of their line, from 1.
type LabelsByLine<'l> = BTreeMap<usize, Vec<&'l ExcerptLabel<'l>>>;

fn of_file(
    set: &SourceSet,
    file: &SourceFile,
    labels: &LabelsByLine<'_>,
    primary: Option<&ExcerptLabel<'_>>,
    width: usize,
) -> Vec<ExcerptRegion> {
    let mut regions: Vec<ExcerptRegion> = Vec::new();
    let mut before = None;
    for number in shown_lines(labels) {
        let Some(line) = file.lines().line(&file.text, number) else {
            continue;
        };
        let is_after_end = line.is_empty() && line.start == file.text.len();
        if is_after_end && !labels.contains_key(&number) {
            continue;
        }
        if before.is_none_or(|before| before + 1 != number) {
            regions.push(ExcerptRegion {
                path: escape_control(&file.path).into_owned(),
                first_line: number,
                text: String::new(),
                marks: Vec::new(),
            });
        }
        before = Some(number);
        if let Some(region) = regions.last_mut() {
            let labels = labels.get(&number).map(Vec::as_slice).unwrap_or_default();
            region.add_line(set, file, line, labels, primary, width);
        }
    }
    regions
}

/// Returns the numbers of the lines to show. A short gap is shown, because a frame of its own would be longer.
fn shown_lines(labels: &LabelsByLine<'_>) -> BTreeSet<usize> {
    let mut shown: BTreeSet<usize> = labels
        .iter()
        .flat_map(|(line, labels)| {
            let has_primary = labels.iter().any(|label| label.role == LabelRole::Primary);
            let around = if has_primary { AROUND } else { 0 };
            line.saturating_sub(around)..=line + around
        })
        .collect();
    let lines: Vec<usize> = shown.iter().copied().collect();
    for pair in lines.windows(2) {
        if let [before, after] = pair
            && after - before <= GAP + 1
        {
            shown.extend(*before..*after);
        }
    }
    shown
}

impl ExcerptRegion {
    fn add_line(
        &mut self,
        set: &SourceSet,
        file: &SourceFile,
        line: Span,
        labels: &[&ExcerptLabel<'_>],
        primary: Option<&ExcerptLabel<'_>>,
        width: usize,
    ) {
        let marks: Vec<Span> = labels
            .iter()
            .map(|label| {
                // A label with several lines is shown on its first line.
                let span = label.label.span;
                let start = span.start.clamp(line.start, line.end);
                let end = span.end.clamp(start, line.end);
                Span::new(start - line.start, end - line.start)
            })
            .collect();
        let shown = excerpt(line.slice(&file.text), &marks, width);
        let base = self.text.len();
        for (label, span) in labels.iter().zip(shown.marks) {
            let position = file.position(label.label.span.start);
            self.marks.push(Mark {
                span: Span::new(base + span.start, base + span.end),
                line: position.line,
                column: position.column,
                message: escape_control(&remark(set, label, primary)).into_owned(),
                role: label.role,
            });
        }
        self.text.push_str(&shown.text);
        self.text.push('\n');
    }
}

/// Returns the text of a label, with the source file of a rendered label if it differs from that of the finding.
fn remark(set: &SourceSet, label: &ExcerptLabel<'_>, primary: Option<&ExcerptLabel<'_>>) -> String {
    let location = source_location(set, label.label);
    let of_finding = || primary.map(|primary| source_location(set, primary.label).path);
    let needs_no_path = label.role == LabelRole::Primary
        || label.text.is_empty()
        || location.rendered.is_none()
        || Some(&location.path) == of_finding().as_ref();
    if needs_no_path {
        return label.text.clone();
    }
    format!("{} ({})", label.text, location.shown())
}

/// A line, as shown, and the positions of the marks in it.
struct Excerpt {
    text: String,
    marks: Vec<Span>,
}

/// Returns at most `width` characters of `line`, around the first mark.
fn excerpt(line: &str, marks: &[Span], width: usize) -> Excerpt {
    let fits = line.chars().take(width + 1).count() <= width;
    let first = marks.first().map_or(0, |mark| mark.start);
    let start = if fits {
        0
    } else {
        window_start(line, first, width)
    };
    let window = line.get(start..).unwrap_or_default();
    let mut text = String::from(if start > 0 { "..." } else { "" });
    // The offset of each character in the line, and its offset in the excerpt.
    let mut offsets = Vec::new();
    for (at, c) in window.char_indices().take(width) {
        offsets.push((start + at, text.len()));
        push_escaped_control(&mut text, c);
    }
    let end = text.len();
    if window.chars().nth(width).is_some() {
        text.push_str("...");
    }
    let shown_offset = |at: usize| {
        let next = offsets.partition_point(|(source, _)| *source < at);
        offsets.get(next).map_or(end, |(_, shown)| *shown)
    };
    let marks: Vec<Span> = marks
        .iter()
        .map(|mark| Span::new(shown_offset(mark.start), shown_offset(mark.end)))
        .collect();
    if marks.iter().any(|mark| mark.start == text.len()) {
        // A mark after the last character requires a character to mark.
        text.push(' ');
    }
    let marks = marks
        .into_iter()
        .map(|mark| not_empty(&text, mark))
        .collect();
    Excerpt { text, marks }
}

fn not_empty(text: &str, mark: Span) -> Span {
    if !mark.is_empty() {
        return mark;
    }
    let next = text.get(mark.start..).and_then(|rest| rest.chars().next());
    Span::new(mark.start, mark.start + next.map_or(0, char::len_utf8))
}

/// Returns the offset of the first shown character of a line that is too long.
fn window_start(line: &str, mark: usize, width: usize) -> usize {
    let before = line.get(..mark).unwrap_or(line);
    if before.chars().take(width).count() < width.saturating_sub(LEAD) {
        return 0;
    }
    let lead = before.char_indices().rev().take(LEAD).last();
    lead.map_or(mark, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str, mark: (usize, usize), width: usize) -> (String, String) {
        let shown = excerpt(line, &[Span::new(mark.0, mark.1)], width);
        let inner = shown.marks[0].slice(&shown.text).to_owned();
        (shown.text, inner)
    }

    #[test]
    fn short_lines_are_not_cut() {
        assert_eq!(
            marked("  port: 80", (2, 6), 40),
            ("  port: 80".into(), "port".into())
        );
        assert_eq!(
            marked("a\u{1b}b", (1, 2), 40),
            ("a\\u{1b}b".into(), "\\u{1b}".into())
        );
        assert_eq!(marked("ab", (2, 2), 40), ("ab ".into(), " ".into()));
        assert_eq!(marked("", (0, 0), 40), (" ".into(), " ".into()));
    }

    #[test]
    fn long_lines_are_cut() {
        let line = format!("{}KEY{}", "x".repeat(1_000_000), "y".repeat(1_000_000));
        let (text, inner) = marked(&line, (1_000_000, 1_000_003), 60);
        assert_eq!(inner, "KEY");
        assert!(text.len() < 80, "{text}");
        let (text, inner) = marked(&line, (0, 2_000_003), 60);
        assert!(inner.starts_with("xxx") && text.ends_with("..."));
        assert!(text.len() < 80);
    }

    #[test]
    fn distant_lines_are_separate_regions() {
        let set = SourceSet::from_text("x.yaml", "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n");
        let label = |start: usize| Label {
            path: "x.yaml".into(),
            span: Span::new(start, start + 1),
            message: String::new(),
        };
        let places = [label(25), label(0), label(20)];
        let roles = [LabelRole::Primary, LabelRole::Deciding, LabelRole::Related];
        let labels = |count: usize| {
            let labels = places.iter().zip(roles).take(count);
            let labels = labels.map(|(label, role)| ExcerptLabel {
                label,
                text: String::new(),
                role,
            });
            labels.collect::<Vec<_>>()
        };
        let shown = |count: usize| {
            let regions = excerpt_regions(&set, &labels(count), 40).into_iter();
            let regions =
                regions.map(|region| (region.first_line, region.text, region.marks.len()));
            regions.collect::<Vec<_>>()
        };
        let (last, first) = ("e: 5\nf: 6\n".to_owned(), "a: 1\n".to_owned());
        assert_eq!(shown(3), [(5, last.clone(), 2), (1, first.clone(), 1)]);
        assert_eq!(shown(2), [(5, last, 1), (1, first, 1)]);
    }
}
