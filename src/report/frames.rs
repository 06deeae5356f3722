//! Draws the regions of a diagnostic with miette.

use std::fmt;

use meshprobe_mesh::finding::Severity;
use meshprobe_yaml::Span;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents, ThemeStyles,
};

use crate::report::excerpt::{ExcerptRegion, LabelRole, Mark};
use crate::report::terminal_style::TerminalStyle;

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
