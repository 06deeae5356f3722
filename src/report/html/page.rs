//! The frame of a report: one HTML file with its own style and script.

use super::markup::{Markup, element};
use super::policy::policy;

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = include_str!("assets/report.js");

/// The parts of a page.
#[derive(Debug)]
pub(super) struct Page {
    /// The title of the document and its heading.
    pub(super) title: &'static str,
    /// The rest of the header.
    pub(super) header: Markup,
    /// The form that filters the items.
    pub(super) filters: Markup,
    /// The sections, each with its id and its heading.
    pub(super) sections: Vec<Section>,
}

/// A section of the page.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    /// The content; an empty section is omitted.
    pub(super) content: Markup,
}

impl Page {
    /// Returns the text of the file.
    pub(super) fn into_html(self) -> String {
        let sections: Vec<Section> = self
            .sections
            .into_iter()
            .filter(|section| !section.content.is_empty())
            .collect();
        let links = sections.iter().map(|section| {
            let link = element("a").with("href", &format!("#{}", section.id));
            element("li").holding(link.text(section.heading))
        });
        let nav = element("nav")
            .with("aria-label", "Sections")
            .holding(element("ul").holding(links.collect()));
        let mut header = element("p").class("brand").text("meshprobe");
        header.push(element("h1").text(self.title));
        header.push(self.header);
        header.push(nav);
        let mut main = self.filters;
        main.push(sections.into_iter().map(Section::into_markup).collect());
        let skip = element("a").class("skip").with("href", "#main");
        let mut body = skip.text("Skip to the results");
        body.push(element("header").class("top").holding(header));
        body.push(
            element("main")
                .with("id", "main")
                .with("tabindex", "-1")
                .holding(main),
        );
        body.push(footer());
        let html = element("html").with("lang", "en").holding(
            [head(self.title), element("body").holding(body)]
                .into_iter()
                .collect(),
        );
        format!("<!DOCTYPE html>\n{}\n", html.into_string())
    }
}

impl Section {
    fn into_markup(self) -> Markup {
        let title = format!("{}-title", self.id);
        let mut content = element("h2").with("id", &title).text(self.heading);
        content.push(self.content);
        element("section")
            .with("id", self.id)
            .with("aria-labelledby", &title)
            .holding(content)
    }
}

fn head(title: &str) -> Markup {
    let meta = |name, content: &str| {
        element("meta")
            .with("name", name)
            .with("content", content)
            .void()
    };
    let policy = element("meta")
        .with("http-equiv", "Content-Security-Policy")
        .with("content", &policy(STYLE, SCRIPT));
    let parts = [
        element("meta").with("charset", "utf-8").void(),
        policy.void(),
        meta("viewport", "width=device-width, initial-scale=1"),
        meta("color-scheme", "light dark"),
        meta("referrer", "no-referrer"),
        meta(
            "generator",
            concat!("meshprobe ", env!("CARGO_PKG_VERSION")),
        ),
        element("title").text(&format!("meshprobe: {title}")),
        element("style").holding(Markup::own(STYLE)),
        element("script")
            .with("type", "module")
            .holding(Markup::own(SCRIPT)),
    ];
    element("head").holding(parts.into_iter().collect())
}

fn footer() -> Markup {
    let link = element("a")
        .with("href", env!("CARGO_PKG_REPOSITORY"))
        .text("meshprobe");
    let mut text = Markup::text("Written by ");
    text.push(link);
    text.push(Markup::text(concat!(
        " ",
        env!("CARGO_PKG_VERSION"),
        ". The file is complete and loads nothing from the network.",
    )));
    element("footer").holding(element("p").holding(text))
}
