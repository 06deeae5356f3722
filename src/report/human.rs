//! Findings for people: what is wrong, the line at fault and the lines that decide, what the
//! kubelet will say, what was taken for granted, what to do.
//!
//! miette draws the lines; all else is written here.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

use crate::finding::{Finding, Label};
use crate::source::SourceSet;
use crate::yaml::Span;

use super::account::consent;
use super::escape::visible;
use super::excerpt::{Mark, Region, regions};
use super::look::{Look, Tone};
use super::place::told;
use super::wrap::wrap;

/// How many lines that decide are drawn; the others are counted.
const LABELS: usize = 8;

/// Room for line numbers and the frame.
const GUTTER: usize = 12;

/// Writes every finding with the lines that it is about.
#[must_use]
pub fn human(set: &SourceSet, findings: &[Finding], look: Look) -> String {
    let mut out = String::new();
    for finding in findings {
        header(&mut out, finding, look);
        let width = look.width.saturating_sub(GUTTER).max(40);
        let (drawn_labels, left) = bounded(finding);
        let regions = regions(set, finding, drawn_labels, width);
        if !regions
            .iter()
            .any(|region| region.path == visible(&finding.primary.path))
        {
            // There is nothing to draw of a file without text, but it has a name.
            let path = visible(&finding.primary.path);
            out.push_str(&format!("  --> {}\n", look.paint(Tone::Faint, &path)));
        }
        let told = told(set, &finding.primary);
        if told.rendered.is_some() {
            // The lines below are those that were judged; this is the file to edit.
            let path = visible(&told.shown()).into_owned();
            out.push_str(&format!("  --> {}\n", look.paint(Tone::Strong, &path)));
        }
        out.push_str(&drawn(Frames::new(regions), look));
        if left > 0 {
            let more = format!("  and {left} more places that decide: see --output-format json\n");
            out.push_str(&more);
        }
        footer(&mut out, finding, look);
        out.push('\n');
    }
    out
}

/// The labels to draw, and how many are left out.
fn bounded(finding: &Finding) -> (&[Label], usize) {
    let left = finding.related.len().saturating_sub(LABELS);
    // One more line is shorter than a sentence about it.
    match finding.related.get(..LABELS) {
        Some(first) if left > 1 => (first, left),
        _ => (&finding.related, 0),
    }
}

fn header(out: &mut String, finding: &Finding, look: Look) {
    let title = format!("{}[{}]", finding.severity.as_str(), finding.rule);
    let first = format!("{}: ", look.paint(finding.severity.into(), &title));
    out.push_str(&wrap(&visible(&finding.message), &first, 2, look.width));
    out.push('\n');
}

fn footer(out: &mut String, finding: &Finding, look: Look) {
    let mut line = |name: &str, text: &str| {
        let first = format!("  {} ", look.paint(Tone::Note, &format!("{name}:")));
        out.push_str(&wrap(&visible(text), &first, name.len() + 4, look.width));
        out.push('\n');
    };
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
        line("fix", &format!("{} ({})", fix.title, consent(fix)));
    }
}

fn drawn(frames: Frames, look: Look) -> String {
    if frames.regions.is_empty() {
        return String::new();
    }
    let theme = match (look.unicode, look.color) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::ascii(),
        (false, false) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(look.width);
    let mut drawn = String::new();
    match handler.render_report(&mut drawn, &frames) {
        // The first line is the message, which is empty: it stands in our own header.
        Ok(()) => drawn
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.to_owned()),
        Err(fmt::Error) => String::new(),
    }
}

/// Regions of any number of files as one diagnostic. To miette they are one source: each region
/// starts at an offset of its own, and none can be read across its end.
#[derive(Debug)]
struct Frames {
    regions: Vec<(usize, Region)>,
}

impl Frames {
    fn new(regions: Vec<Region>) -> Self {
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

    fn region(&self, span: &SourceSpan) -> Option<(usize, &Region)> {
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
    /// Returns the region that `span` lies in. miette asks without any lines around only for
    /// the line and column that it prints above a region: that is the place in the real file.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (base, region) = self.region(span).ok_or(MietteError::OutOfBounds)?;
        let own = Span::new(span.offset() - base, span.offset() + span.len() - base);
        let mark = region.marks.iter().find(|mark| mark.span == own);
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
    use super::*;
    use crate::finding::Severity;
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
            "strict-probe-not-rewritten",
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
        let look = Look {
            width: 72,
            ..Look::PLAIN
        };
        insta::assert_snapshot!(human(&set, &[finding], look));
    }

    #[test]
    fn terminals_get_colours_and_lines() {
        let (set, finding) = finding();
        let look = Look {
            width: 72,
            terminal: true,
            color: true,
            unicode: true,
        };
        insta::assert_snapshot!(human(&set, &[finding], look).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn long_lists_of_places_are_bounded() {
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
        let shown = human(&set, &[finding.clone()], Look::PLAIN);
        assert!(shown.contains("place 7") && !shown.contains("place 8"));
        assert!(shown.contains("and 22 more places"));
        finding.related.truncate(9);
        let shown = human(&set, &[finding], Look::PLAIN);
        assert!(shown.contains("place 8") && !shown.contains("more places"));
    }
}
