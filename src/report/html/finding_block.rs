//! A finding with its texts and lines.

use maud::{Markup, html};
use meshprobe_mesh::finding::{Finding, Label, docs_url};

use super::lines::{certainty, place_of};
use super::markup::{Message, Text};
use super::places::Places;
use super::tone::severity_class;
use crate::report::text::{fix_text, subject};

/// What the surroundings of a finding show already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// The object, and the lines at these places.
    Probe(&'a [&'a str]),
}

/// Returns the block of a finding.
pub(super) fn finding_block(places: Places<'_>, finding: &Finding, shown: Shown<'_>) -> Markup {
    let class = match finding.suppressed {
        Some(_) => "calm",
        None => severity_class(finding.severity),
    };
    html! {
        div class={ "finding " (class) } data-f=(status(finding)) {
            p.head {
                (tag(class, status(finding)))
                a.rule href=(Text(&docs_url(finding.rule))) { (finding.rule.as_str()) }
                (place_of(&places.place(&finding.primary)))
                (certainty(finding.certainty.as_str()))
            }
            p.msg { (Message(&finding.message)) }
            (fields(finding, shown))
            (related(places, finding, shown))
        }
    }
}

/// Returns the status by which a filter selects a finding: its severity, or `suppressed`.
pub(super) fn status(finding: &Finding) -> &'static str {
    match finding.suppressed {
        Some(_) => "suppressed",
        None => finding.severity.as_str(),
    }
}

/// Returns the mark of a status or a severity.
pub(super) fn tag(class: &str, text: &str) -> Markup {
    html! { span class={ "tag " (class) } { (Text(text)) } }
}

fn fields(finding: &Finding, shown: Shown<'_>) -> Markup {
    let object = Some(subject(finding)).filter(|text| shown == Shown::Nothing && !text.is_empty());
    let suppressed = finding.suppressed.as_ref().map(|suppression| {
        let (by, path, line) = (suppression.by.as_str(), &suppression.path, suppression.line);
        let at = format!("{by} in {path}:{line}");
        match suppression.reason.as_str() {
            "" => at,
            reason => format!("{at}: {reason}"),
        }
    });
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    let mut add = |name, text: Option<String>| {
        rows.extend(text.map(|text| (name, html! { (Message(&text)) })));
    };
    add("suppressed by", suppressed);
    add("object", object);
    add("in", finding.environments_line());
    add("help", finding.help.clone());
    add("fix", finding.fix.as_ref().map(fix_text));
    for assumption in &finding.assumptions {
        add("assumed", Some(assumption.clone()));
    }
    if let Some(kubelet) = finding.kubelet.as_ref().filter(|_| shown == Shown::Nothing) {
        rows.push(("kubelet", html! { code { (Text(kubelet)) } }));
    }
    field_list(rows)
}

/// Returns a list of names and values; empty for no rows.
pub(super) fn field_list(rows: Vec<(&str, Markup)>) -> Markup {
    html! {
        @if !rows.is_empty() {
            dl.fields { @for (name, value) in rows { div { dt { (Text(name)) } dd { (value) } } } }
        }
    }
}

/// Returns the lines that decide the finding, without those that its surroundings show.
fn related(places: Places<'_>, finding: &Finding, shown: Shown<'_>) -> Markup {
    let is_new = |(place, _): &(String, &Label)| !matches!(shown, Shown::Probe(known) if known.contains(&place.as_str()));
    let lines = finding
        .related
        .iter()
        .map(|label| (places.place(label), label));
    let lines: Vec<(String, &Label)> = lines.filter(is_new).collect();
    html! {
        @if !lines.is_empty() {
            ul.lines {
                @for (place, label) in &lines {
                    li {
                        (place_of(place)) span { (Message(&label.message)) }
                        @if let Some(line) = places.line(label) { pre { (Text(&line)) } }
                    }
                }
            }
        }
    }
}
