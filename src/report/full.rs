//! Findings for people: the message, the line of the finding and the related lines, the text of the kubelet, the
//! assumptions, and the help.
//!
//! miette draws the lines; this module writes everything else.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

use crate::finding::{Finding, Label};
use crate::source::SourceSet;
use crate::yaml::Span;

use crate::report::escape::escape_control;
use crate::report::excerpt::{ExcerptRegion, Mark, excerpt_regions};
use crate::report::source_location::source_location;
use crate::report::terminal_style::{TerminalStyle, Tone};
use crate::report::text::how_to_apply;
use crate::report::wrap::wrap;

/// The maximum number of related lines that are drawn; the others are counted.
const LABELS: usize = 8;

/// The width of line numbers and the frame.
const GUTTER: usize = 12;

/// Returns all findings with their lines.
#[must_use]
pub fn full(set: &SourceSet, findings: &[Finding], style: TerminalStyle) -> String {
    let mut out = String::new();
    for finding in findings {
        header(&mut out, finding, style);
        let width = style.width.saturating_sub(GUTTER).max(40);
        let (drawn_labels, hidden) = bounded(finding);
        let regions = excerpt_regions(set, finding, drawn_labels, width);
        if !regions
            .iter()
            .any(|region| region.path == escape_control(&finding.primary.path))
        {
            // A file without text has no lines to draw, so only its path is written.
            let path = escape_control(&finding.primary.path);
            out.push_str(&format!("  --> {}\n", style.paint(Tone::Faint, &path)));
        }
        let location = source_location(set, &finding.primary);
        if location.rendered.is_some() {
            // The lines below are rendered; this is the source file.
            let path = escape_control(&location.shown()).into_owned();
            out.push_str(&format!("  --> {}\n", style.paint(Tone::Strong, &path)));
        }
        out.push_str(&drawn(Frames::new(regions), style));
        if hidden > 0 {
            let more = format!("  and {hidden} more related lines; see --output-format json\n");
            out.push_str(&more);
        }
        footer(&mut out, finding, style);
        out.push('\n');
    }
    out
}

/// Returns the labels to draw, and the number of the others.
fn bounded(finding: &Finding) -> (&[Label], usize) {
    let hidden = finding.related.len().saturating_sub(LABELS);
    // Drawing one more line is shorter than counting it.
    match finding.related.get(..LABELS) {
        Some(first) if hidden > 1 => (first, hidden),
        _ => (&finding.related, 0),
    }
}

fn header(out: &mut String, finding: &Finding, style: TerminalStyle) {
    let title = format!("{}[{}]", finding.severity.as_str(), finding.rule);
    let first = format!("{}: ", style.paint(finding.severity.into(), &title));
    out.push_str(&wrap(
        &escape_control(&finding.message),
        &first,
        2,
        style.width,
    ));
    out.push('\n');
}

fn footer(out: &mut String, finding: &Finding, style: TerminalStyle) {
    let mut line = |name: &str, text: &str| {
        let first = format!("  {} ", style.paint(Tone::Note, &format!("{name}:")));
        out.push_str(&wrap(
            &escape_control(text),
            &first,
            name.len() + 4,
            style.width,
        ));
        out.push('\n');
    };
    if let Some(environments) = finding.environments_line() {
        line("in", &environments);
    }
    if let Some(kubelet) = &finding.kubelet {
        line("kubelet", kubelet);
    }
    for assumption in &finding.assumptions {
        line("assumed", assumption);
    }
    if let Some(help) = &finding.help {
        line("help", help);
    }
    if let Some(fix) = &finding.fix {
        line("fix", &format!("{} ({})", fix.title, how_to_apply(fix)));
    }
}

fn drawn(frames: Frames, style: TerminalStyle) -> String {
    if frames.regions.is_empty() {
        return String::new();
    }
    let theme = match (style.unicode, style.color) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::ascii(),
        (false, false) => GraphicalTheme::none(),
    };
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
        let labels = self.regions.iter().flat_map(|(base, region)| {
            region.marks.iter().map(move |mark| {
                let text = (!mark.message.is_empty()).then(|| mark.message.clone());
                let span = (base + mark.span.start, mark.span.len());
                if mark.primary {
                    LabeledSpan::new_primary_with_span(text, span)
                } else {
                    LabeledSpan::new_with_span(text, span)
                }
            })
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

#[cfg(test)]
mod tests {
    use crate::finding::{Severity, rule_id};
    use crate::report::full::*;
    use crate::source::SourceFile;

    fn finding() -> (SourceSet, Finding) {
        let file = |path: &str, text: &str| SourceFile::new(path.into(), text.into());
        let web = "kind: Deployment\nspec:\n  readinessProbe:\n    httpGet: {}\n";
        let mtls = "kind: PeerAuthentication\nspec:\n  mtls:\n    mode: STRICT\n";
        let set = SourceSet::new(vec![
            file("apps/web.yaml", web),
            file("infra/mtls.yaml", mtls),
        ]);
        let label = |path: &str, text: &str, what: &str, message: &str| {
            let start = text.find(what).unwrap();
            Label {
                path: path.into(),
                span: Span::new(start, start + what.len()),
                message: message.into(),
            }
        };
        let primary = label("apps/web.yaml", web, "readinessProbe", "");
        let message =
            "readinessProbe of container `web` will fail: port 8080 takes mutual TLS only".into();
        let mut finding = Finding::new(
            rule_id!("strict-probe-not-rewritten"),
            Severity::Error,
            primary,
            message,
        );
        finding.related.push(label(
            "infra/mtls.yaml",
            mtls,
            "STRICT",
            "for the whole mesh",
        ));
        finding
            .related
            .push(label("apps/web.yaml", web, "Deployment", "not rewritten"));
        finding.kubelet =
            Some("Readiness probe failed: read tcp ...: connection reset by peer".into());
        finding
            .assumptions
            .push("the mesh rewrites probes [--assume rewrite=false]".into());
        finding.help = Some("delete the annotation".into());
        (set, finding)
    }

    #[test]
    fn both_ends_are_shown() {
        let (set, finding) = finding();
        let style = TerminalStyle {
            width: 72,
            ..TerminalStyle::PLAIN
        };
        insta::assert_snapshot!(full(&set, &[finding], style));
    }

    #[test]
    fn terminals_get_colours_and_lines() {
        let (set, finding) = finding();
        let style = TerminalStyle {
            width: 72,
            terminal: true,
            color: true,
            unicode: true,
        };
        insta::assert_snapshot!(full(&set, &[finding], style).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn long_lists_of_related_lines_are_cut() {
        let (set, mut finding) = finding();
        let text = "kind: PeerAuthentication\n".repeat(30);
        let many = SourceFile::new("many.yaml".into(), text.as_str().into());
        let set = SourceSet::new(set.files.into_iter().chain([many]).collect());
        finding.related = (0..30)
            .map(|line| Label {
                path: "many.yaml".into(),
                span: Span::new(line * 25, line * 25 + 4),
                message: format!("place {line}"),
            })
            .collect();
        let shown = full(&set, &[finding.clone()], TerminalStyle::PLAIN);
        assert!(shown.contains("place 7") && !shown.contains("place 8"));
        assert!(shown.contains("and 22 more related lines"));
        finding.related.truncate(9);
        let shown = full(&set, &[finding], TerminalStyle::PLAIN);
        assert!(shown.contains("place 8") && !shown.contains("more related lines"));
    }
}
