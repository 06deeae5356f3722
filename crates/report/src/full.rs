//! Findings for people: the message, the lines of the probes and the related lines, the text of the kubelet, the
//! assumptions, the help, and where the rule is documented. Findings with the same cause are one diagnostic.

use std::fmt::Write as _;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_tree::source::SourceSet;

use super::escape::escape_control;
use super::finding_groups::{FindingGroup, finding_groups};
use super::frames::{ExcerptLabel, LabelRole, drawn, excerpt_regions};
use super::terminal_style::{TerminalStyle, Tone, wrap};
use super::text::{counted, how_to_apply};
use meshprobe_engine::engine::source_location;

/// The maximum number of related lines that are drawn; the others are counted.
const LABELS: usize = 8;

/// The maximum number of probes of a group that are drawn; the others are listed.
const PROBES: usize = 4;

/// The width of line numbers and the frame.
pub(super) const GUTTER: usize = 12;

/// Returns all findings with their lines.
#[must_use]
pub fn full(set: &SourceSet, findings: &[Finding], style: TerminalStyle) -> String {
    let mut out = String::new();
    for group in finding_groups(findings) {
        header(&mut out, &group, style);
        body(&mut out, set, &group, style);
        footer(&mut out, &group, style);
        out.push('\n');
    }
    out
}

fn header(out: &mut String, group: &FindingGroup<'_>, style: TerminalStyle) {
    let finding = group.first;
    let title = format!("{}[{}]", finding.severity.as_str(), finding.rule);
    let first = format!("{}: ", style.paint(finding.severity.into(), &title));
    out.push_str(&wrap(
        &escape_control(&group.message()),
        &first,
        2,
        style.width,
    ));
    out.push('\n');
}

/// Writes the lines of the findings and those that decide.
fn body(out: &mut String, set: &SourceSet, group: &FindingGroup<'_>, style: TerminalStyle) {
    let findings: Vec<&Finding> = group.findings().collect();
    let (drawn_findings, listed) = bounded(&findings, PROBES);
    let all = &group.first.related;
    let distinct = distinct_labels(group.first);
    let (related, _) = bounded(&distinct, LABELS);
    let primary = drawn_findings.iter().map(|finding| ExcerptLabel {
        label: &finding.primary,
        text: group.primary_text(finding),
        role: LabelRole::Primary,
    });
    let mut labels: Vec<ExcerptLabel<'_>> = Vec::new();
    for label in primary {
        // Several findings may be about one line.
        if !labels.iter().any(|known| known.label.is_at(label.label)) {
            labels.push(label);
        }
    }
    labels.extend(related.iter().enumerate().map(|(at, &label)| {
        let is_deciding = at == 0 && group.first.probe.is_some() && !label.message.is_empty();
        let (prefix, role) = match is_deciding {
            true => ("because: ", LabelRole::Deciding),
            false => ("", LabelRole::Related),
        };
        ExcerptLabel {
            label,
            text: format!("{prefix}{}", label.message),
            role,
        }
    }));
    let width = style.width.saturating_sub(GUTTER).max(40);
    let regions = excerpt_regions(set, &labels, width);
    let mut arrow = |tone: Tone, path: &str| {
        let path = style.paint(tone, &escape_control(path));
        out.push_str(&format!("  --> {path}\n"));
    };
    for finding in drawn_findings {
        let path = &finding.primary.path;
        if !regions
            .iter()
            .any(|region| region.path == escape_control(path))
        {
            // A file without text has no lines to draw, so only its path is written.
            arrow(Tone::Faint, path);
        }
        let location = source_location(set, &finding.primary);
        if location.rendered.is_some() {
            // The lines below are rendered; this is the source file.
            arrow(Tone::Strong, &location.shown());
        }
    }
    out.push_str(&drawn(regions, group.first.severity, style));
    for finding in listed {
        let location = source_location(set, &finding.primary).shown();
        let text = group.primary_text(finding);
        let line = format!("  also {location}: {text}");
        out.push_str(&escape_control(&line));
        out.push('\n');
    }
    let hidden = all.len() - related.len();
    if hidden > 0 {
        let more = counted(hidden, "more related line");
        out.push_str(&format!("  and {more}; see --output-format json\n"));
    }
}

/// Returns the related labels to draw. In several environments, lines with the same message decide, of which one is drawn.
fn distinct_labels(finding: &Finding) -> Vec<&Label> {
    let mut distinct: Vec<&Label> = Vec::new();
    let mut seen = HashSet::new();
    for label in &finding.related {
        if seen.insert(&*label.message) || finding.environments.is_empty() {
            distinct.push(label);
        }
    }
    distinct
}

/// Splits a list into at most `limit` items, and the others. A single other item is not split off, because drawing it is
/// as short as counting it.
fn bounded<T>(items: &[T], limit: usize) -> (&[T], &[T]) {
    match items.split_at_checked(limit) {
        Some((first, others)) if others.len() > 1 => (first, others),
        _ => (items, &[]),
    }
}

fn footer(out: &mut String, group: &FindingGroup<'_>, style: TerminalStyle) {
    let finding = group.first;
    let mut line = |name: &str, text: &str| out.push_str(&named_line(name, text, style));
    if let Some(environments) = finding.environments_line() {
        line("in", &environments);
    }
    for kubelet in group.kubelet() {
        line("kubelet", &kubelet);
    }
    for assumption in &finding.assumptions {
        line("assumed", &assumption.to_string());
    }
    if let Some(help) = &finding.help {
        line("help", help);
    }
    if let Some(fix) = &finding.fix {
        line("fix", &format!("{} ({})", fix.title, how_to_apply(fix)));
    }
    line("rule", &format!("meshprobe rule {}", finding.rule));
}

/// Returns a line of the footer, such as `help: …`.
pub(super) fn named_line(name: &str, text: &str, style: TerminalStyle) -> String {
    let first = format!("  {} ", style.paint(Tone::Note, &format!("{name}:")));
    let indent = name.len() + 4;
    wrap(&escape_control(text), &first, indent, style.width) + "\n"
}

/// Writes one line per finding.
#[must_use]
pub fn concise(set: &SourceSet, findings: &[Finding], style: TerminalStyle) -> String {
    let mut out = String::new();
    for finding in findings {
        let location = source_location(set, &finding.primary);
        out.push_str(&style.paint(Tone::Strong, &escape_control(&location.path)));
        if let Some(place) = location.place {
            // Writing to a string cannot fail.
            let _ = write!(out, ":{}:{}", place.start.line, place.start.column);
        }
        let severity = format!("{}[{}]", finding.severity.as_str(), finding.rule);
        out.push_str(": ");
        out.push_str(&style.paint(finding.severity.into(), &severity));
        out.push(' ');
        out.push_str(&escape_control(&finding.message));
        if let Some(rendered) = location.shown_rendered() {
            let _ = write!(out, " (rendered: {})", escape_control(&rendered));
        }
        if let Some(environments) = finding.environments_line() {
            let _ = write!(out, " (in: {})", escape_control(&environments));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use meshprobe_mesh::finding::{Assumption, Severity, rule_id};
    use meshprobe_tree::source::SourceFile;
    use meshprobe_yaml::Span;

    use super::*;

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
        finding.assumptions.push(Assumption {
            fact: "the mesh rewrites probes".into(),
            option: Some("--assume rewrite=false".into()),
        });
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
