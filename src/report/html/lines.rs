//! Lists of the lines that decide, and of all facts.

use maud::{Markup, html};

use crate::report::name_list::name_list;
use crate::report::prediction::{DecidingLine, Line};

use super::markup::{Message, Text};

/// Returns the list of the lines that decide.
pub(super) fn deciding_lines(lines: &[DecidingLine]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h5 { "Lines that decide" }
            ul.lines {
                @for line in lines {
                    li {
                        @if let Some(place) = &line.place { (place_of(place)) }
                        @if let Some((name, value)) = &line.fact { b { (Text(&format!("{name} {value}"))) } }
                        span { (Message(&line.message)) }
                        (certainty(line.certainty))
                        @if let Some(text) = &line.text { pre { (Text(text)) } }
                    }
                }
            }
        }
    }
}

/// Returns the mark of a certainty; empty for an empty one.
pub(super) fn certainty(word: &str) -> Markup {
    html! { @if !word.is_empty() { span class={ "sure " (word) } { (word) } } }
}

/// Returns a place in a file.
pub(super) fn place_of(place: &str) -> Markup {
    html! { code.place { (Text(place)) } }
}

/// Returns the table of facts: value, certainty and reasons.
pub(super) fn fact_table(facts: &[Line]) -> Markup {
    html! {
        table.facts {
            thead { tr { @for name in ["fact", "value", "because"] { th scope="col" { (name) } } } }
            tbody {
                @for line in facts {
                    tr {
                        th scope="row" { (Text(line.name)) }
                        td { (Text(&line.value)) (certainty(line.certainty)) }
                        td {
                            @for reason in &line.because {
                                div {
                                    (Message(&reason.text))
                                    @for place in &reason.places { (place_of(place)) }
                                    @if !reason.environments.is_empty() {
                                        (Text(&format!(" (in: {})", name_list(&reason.environments))))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
