//! Lists of the lines that decide, and of all facts.

use crate::report::name_list::name_list;
use crate::report::prediction::{DecidingLine, Line};

use super::markup::{Markup, element};

/// Returns the list of the lines that decide.
pub(super) fn deciding_lines(lines: &[DecidingLine]) -> Markup {
    if lines.is_empty() {
        return Markup::new();
    }
    let items = lines.iter().map(|line| {
        let mut content = Markup::new();
        if let Some(place) = &line.place {
            content.push(place_of(place));
        }
        if let Some((name, value)) = &line.fact {
            content.push(element("b").text(&format!("{name} {value}")));
        }
        content.push(element("span").message(&line.message));
        content.push(certainty(line.certainty));
        if let Some(text) = &line.text {
            content.push(element("pre").text(text));
        }
        element("li").holding(content)
    });
    let mut out = element("h5").text("Lines that decide");
    out.push(element("ul").class("lines").holding(items.collect()));
    out
}

/// Returns the mark of a certainty; empty for an empty one.
pub(super) fn certainty(word: &str) -> Markup {
    if word.is_empty() {
        return Markup::new();
    }
    element("span").class(&format!("sure {word}")).text(word)
}

/// Returns a place in a file.
pub(super) fn place_of(place: &str) -> Markup {
    element("code").class("place").text(place)
}

/// Returns the table of facts: value, certainty and reasons.
pub(super) fn fact_table(facts: &[Line]) -> Markup {
    let rows = facts.iter().map(|line| {
        let mut cells = element("th").with("scope", "row").text(line.name);
        let mut value = Markup::text(&line.value);
        value.push(certainty(line.certainty));
        cells.push(element("td").holding(value));
        let reasons = line.because.iter().map(|reason| {
            let mut content = Markup::message(&reason.text);
            for place in &reason.places {
                content.push(place_of(place));
            }
            if !reason.environments.is_empty() {
                content.push(Markup::text(&format!(
                    " (in: {})",
                    name_list(&reason.environments)
                )));
            }
            element("div").holding(content)
        });
        cells.push(element("td").holding(reasons.collect()));
        element("tr").holding(cells)
    });
    let heads =
        ["fact", "value", "because"].map(|name| element("th").with("scope", "col").text(name));
    let mut table = element("thead").holding(element("tr").holding(heads.into_iter().collect()));
    table.push(element("tbody").holding(rows.collect()));
    element("table").class("facts").holding(table)
}
