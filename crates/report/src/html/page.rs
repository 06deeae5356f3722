//! The frame of a report: one HTML file with its own style and script, and the texts, places and classes in it.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use meshprobe_mesh::finding::Severity;
use meshprobe_predict::predict::{HopState, Outcome};

use crate::escape::{escape_control, starts_command};
use meshprobe_engine::diff::Class;

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = include_str!("assets/report.js");

/// The Content-Security-Policy: nothing is loaded, and only the style and the script of the page apply, by the SHA-256 of
/// their texts.
const POLICY: &str = "default-src 'none'; \
                      style-src 'sha256-A/6HkhwT5kQ7k4azVxzCYSnvxcQMqdTvCg9tTSvddBI='; \
                      script-src 'sha256-izsrrowOg75kKe992RZzZ+UMOkCbjyPzwdlCn1AYwhI='; \
                      base-uri 'none'; form-action 'none'";

/// The parts of a page.
#[derive(Debug)]
pub(super) struct Page {
    /// The title of the document and its heading.
    pub(super) title: &'static str,
    /// The rest of the header.
    pub(super) header: Markup,
    /// The form that filters the items.
    pub(super) filters: Markup,
    /// The sections, each with its id and its heading. Empty ones are omitted.
    pub(super) sections: Vec<(&'static str, &'static str, Markup)>,
}

impl Page {
    /// Returns the text of the file.
    pub(super) fn into_html(mut self) -> String {
        self.sections.retain(|(.., content)| !content.0.is_empty());
        let version = env!("CARGO_PKG_VERSION");
        let html = html! {
            (DOCTYPE)
            "\n"
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content={ "meshprobe " (version) };
                    title { "meshprobe: " (self.title) }
                    style { (PreEscaped(STYLE)) }
                    script type="module" { (PreEscaped(SCRIPT)) }
                }
                body {
                    a.skip href="#main" { "Skip to the results" }
                    header.top {
                        p.brand { "meshprobe" }
                        h1 { (self.title) }
                        (self.header)
                        nav aria-label="Sections" {
                            ul {
                                @for (id, heading, _) in &self.sections { li { a href={ "#" (id) } { (heading) } } }
                            }
                        }
                    }
                    main #main tabindex="-1" {
                        (self.filters)
                        @for (id, heading, content) in &self.sections {
                            section id=(id) aria-labelledby={ (id) "-title" } {
                                h2 id={ (id) "-title" } { (heading) }
                                (content)
                            }
                        }
                    }
                    footer {
                        p {
                            "Written by " a href=(env!("CARGO_PKG_REPOSITORY")) { "meshprobe" } " " (version)
                            ". The file is complete and loads nothing from the network."
                        }
                    }
                }
            }
        };
        html.into_string() + "\n"
    }
}

/// Text for content and attributes. Control and bidirectional characters are escaped as in all reports, as is the `#` of
/// commands of CI systems.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'t>(pub(super) &'t str);

/// A message, in which text between backticks is code. A message with an odd number of backticks, because of a value from a
/// manifest, is plain text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'t>(pub(super) &'t str);

impl Render for Text<'_> {
    fn render_to(&self, out: &mut String) {
        let text = escape_control(self.0);
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '#' if starts_command(rest.as_str()) => out.push_str("&#35;"),
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                c => out.push(c),
            }
        }
    }
}

impl Render for Message<'_> {
    fn render_to(&self, out: &mut String) {
        let parts: Vec<&str> = self.0.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return Text(self.0).render_to(out);
        }
        for (number, part) in parts.iter().enumerate() {
            match number % 2 {
                0 => Text(part).render_to(out),
                _ => html! { code { (Text(part)) } }.render_to(out),
            }
        }
    }
}

/// A number with its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// The class of the style sheet.
    pub(super) class: &'static str,
    /// What is counted.
    pub(super) name: &'static str,
    pub(super) count: usize,
}

/// Returns the list of numbers.
pub(super) fn tiles(all: &[Tile]) -> Markup {
    html! {
        dl.tiles {
            @for tile in all {
                div class={ "tile " (if tile.count == 0 { "plain" } else { tile.class }) } {
                    dt { (tile.name) }
                    dd id={ "count-" (tile.name) } { (tile.count) }
                }
            }
        }
    }
}

/// Returns the class of an outcome.
pub(super) const fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "good",
        Outcome::NotInMesh => "calm",
        Outcome::Unknown => "warn",
        Outcome::Fails
        | Outcome::AlwaysPasses
        | Outcome::TargetChanged
        | Outcome::Refused
        | Outcome::InvalidManifest => "bad",
    }
}

/// Returns the class of a severity.
pub(super) const fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "bad",
        Severity::Warning => "warn",
        Severity::Note => "note",
    }
}

/// Returns the class of the style sheet for a class of changes.
pub(super) const fn change_class(class: Class) -> &'static str {
    match class {
        Class::Regression | Class::Added => "bad",
        Class::Changed => "note",
        Class::Improvement => "good",
        Class::Removed => "calm",
    }
}

/// Returns the class of a hop.
pub(super) const fn hop_class(state: HopState) -> &'static str {
    match state {
        HopState::Passed => "hop passed",
        HopState::Bypassed => "hop bypassed",
        HopState::Fault => "hop fault",
        HopState::Unknown => "hop unknown",
        HopState::NotReached => "hop missed",
    }
}

/// Returns what happens at a hop, for a probe with this outcome; empty if the request passes, which the style sheet marks.
pub(super) const fn hop_text(state: HopState, outcome: Outcome) -> &'static str {
    match (state, outcome) {
        (HopState::Passed, _) => "",
        (HopState::Bypassed, _) => "bypassed",
        (HopState::Unknown, _) => "not known",
        (HopState::NotReached, _) => "not reached",
        (HopState::Fault, Outcome::AlwaysPasses) => "always passes here",
        (HopState::Fault, Outcome::TargetChanged) => "target changes here",
        (HopState::Fault, Outcome::Refused) => "refused here",
        (HopState::Fault, _) => "fails here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_contains_no_markup() {
        let hostile = "</script><!--<b a='1' c=\"2\">&amp;\u{202e}\u{0}\n";
        let expected = "&lt;/script&gt;&lt;!--&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;\\u{202e}\\u{0} ";
        assert_eq!(Text(hostile).render().into_string(), expected);
        let attribute = html! { p title=(Text(hostile)) {} }.into_string();
        assert_eq!(attribute, format!("<p title=\"{expected}\"></p>"));
    }

    #[test]
    fn code_in_messages_is_an_element() {
        let shown = |text| Message(text).render().into_string();
        assert_eq!(
            shown("port `<a>` fails"),
            "port <code>&lt;a&gt;</code> fails"
        );
        assert_eq!(shown("odd ` <b>"), "odd ` &lt;b&gt;");
    }
}
