//! A finding with its texts and lines.

use crate::finding::{Finding, docs_url};
use crate::report::text::{fix_text, subject};

use super::lines::{certainty, place_of};
use super::markup::{Markup, element};
use super::places::Places;
use super::tone::severity_class;

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
    let mut content = element("p").class("head").holding(heading(places, finding));
    content.push(element("p").class("msg").message(&finding.message));
    content.push(fields(finding, shown));
    content.push(related(places, finding, shown));
    let class = match finding.suppressed {
        Some(_) => "finding calm".to_owned(),
        None => format!("finding {}", severity_class(finding.severity)),
    };
    element("div")
        .class(&class)
        .with("data-f", status(finding))
        .holding(content)
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
    element("span").class(&format!("tag {class}")).text(text)
}

fn heading(places: Places<'_>, finding: &Finding) -> Markup {
    let mut out = match finding.suppressed {
        Some(_) => tag("calm", "suppressed"),
        None => tag(severity_class(finding.severity), finding.severity.as_str()),
    };
    let link = element("a")
        .class("rule")
        .with("href", &docs_url(finding.rule));
    out.push(link.text(finding.rule.as_str()));
    out.push(place_of(&places.place(&finding.primary)));
    out.push(certainty(finding.certainty.as_str()));
    out
}

fn fields(finding: &Finding, shown: Shown<'_>) -> Markup {
    let object = Some(subject(finding)).filter(|text| shown == Shown::Nothing && !text.is_empty());
    let suppressed = finding.suppressed.as_ref().map(|suppression| {
        let reason = Some(suppression.reason.as_str()).filter(|reason| !reason.is_empty());
        let at = format!(
            "{} in {}:{}",
            suppression.by.as_str(),
            suppression.path,
            suppression.line
        );
        reason.map_or_else(|| at.clone(), |reason| format!("{at}: {reason}"))
    });
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    let mut add = |name, text: Option<String>| {
        rows.extend(text.map(|text| (name, Markup::message(&text))));
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
        rows.push(("kubelet", element("code").text(kubelet)));
    }
    field_list(rows)
}

/// Returns a list of names and values; empty for no rows.
pub(super) fn field_list(rows: Vec<(&str, Markup)>) -> Markup {
    if rows.is_empty() {
        return Markup::new();
    }
    let rows = rows.into_iter().map(|(name, value)| {
        let mut row = element("dt").text(name);
        row.push(element("dd").holding(value));
        element("div").holding(row)
    });
    element("dl").class("fields").holding(rows.collect())
}

/// Returns the lines that decide the finding, without those that its surroundings show.
fn related(places: Places<'_>, finding: &Finding, shown: Shown<'_>) -> Markup {
    let items: Markup = finding
        .related
        .iter()
        .filter_map(|label| {
            let place = places.place(label);
            if matches!(shown, Shown::Probe(known) if known.contains(&place.as_str())) {
                return None;
            }
            let mut content = place_of(&place);
            content.push(element("span").message(&label.message));
            if let Some(line) = places.line(label) {
                content.push(element("pre").text(&line));
            }
            Some(element("li").holding(content))
        })
        .collect();
    if items.is_empty() {
        return items;
    }
    element("ul").class("lines").holding(items)
}
