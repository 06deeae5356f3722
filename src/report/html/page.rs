//! The frame of a report: one HTML file with its own style and script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = include_str!("assets/report.js");

/// The Content-Security-Policy: nothing is loaded, and only the style and the script of the page apply, by the SHA-256 of
/// their texts.
const POLICY: &str = "default-src 'none'; \
                      style-src 'sha256-MzNrEXy2ZWVoicPSZZILPIEcvUuEzmApF0EBexyE7iY='; \
                      script-src 'sha256-t62fWe7vJsim90UDBG2Tl7HT3SlsLydX+hSU5H+k41Y='; \
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
