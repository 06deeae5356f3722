//! Reads a report in HTML. Panics on markup that a report must not contain.

use std::collections::BTreeMap;

/// The elements of reports.
const ELEMENTS: &[&str] = &[
    "a", "article", "b", "body", "button", "code", "dd", "details", "div", "dl", "dt", "em",
    "fieldset", "footer", "form", "h1", "h2", "h3", "h4", "h5", "head", "header", "html", "input",
    "label", "legend", "li", "main", "meta", "nav", "ol", "option", "output", "p", "pre", "rect",
    "script", "section", "select", "small", "span", "style", "summary", "svg", "table", "tbody",
    "td", "th", "thead", "title", "tr", "ul",
];

/// The elements without an end tag.
const VOID: &[&str] = &["input", "meta"];

/// A part of the document.
#[derive(Debug)]
pub(super) enum Part {
    /// A start tag, with its attributes.
    Start(String, BTreeMap<String, String>),
    /// An end tag.
    End(String),
    /// Text without entities.
    Text(String),
}

/// Returns the parts of a document, and checks that its elements are known and nested, and that no attribute contains code
/// or style.
pub(super) fn parts(html: &str) -> Vec<Part> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").unwrap().trim_end();
    let mut parts = Vec::new();
    let mut open: Vec<String> = Vec::new();
    while !rest.is_empty() {
        let raw = open
            .last()
            .filter(|name| *name == "style" || *name == "script");
        if let Some(end) = raw.map(|raw| rest.find(&format!("</{raw}>")).unwrap()) {
            let (text, after) = rest.split_at(end);
            parts.push(Part::Text(text.to_owned()));
            rest = after;
        }
        let (text, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        if !text.is_empty() {
            parts.push(Part::Text(unescaped(text)));
            rest = after;
            continue;
        }
        let (tag, after) = after.split_once('>').unwrap();
        let tag = tag.strip_prefix('<').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
            parts.push(Part::End(name.to_owned()));
            continue;
        }
        let (name, attributes) = start_tag(tag);
        if !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        parts.push(Part::Start(name, attributes));
    }
    assert!(open.is_empty(), "{open:?} not closed");
    parts
}

fn start_tag(tag: &str) -> (String, BTreeMap<String, String>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(ELEMENTS.contains(&name), "<{tag}>");
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let (attribute, after) = rest.split_at(rest.find([' ', '=']).unwrap_or(rest.len()));
        assert!(
            attribute
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b == b'-'),
            "<{tag}>"
        );
        assert!(
            !attribute.starts_with("on") && attribute != "style",
            "<{tag}>"
        );
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').unwrap(),
            None => ("", after),
        };
        rest = after.strip_prefix(' ').unwrap_or(after);
        attributes.insert(attribute.to_owned(), unescaped(value));
    }
    (name.to_owned(), attributes)
}

fn unescaped(text: &str) -> String {
    let entities = text.matches('&').count();
    let known = ["&lt;", "&gt;", "&quot;", "&#39;", "&#35;", "&amp;"];
    let found: usize = known
        .iter()
        .map(|entity| text.matches(entity).count())
        .sum();
    assert_eq!(entities, found, "an `&` is not escaped: {text}");
    let plain = ["<", ">", "\"", "'", "#"].iter().zip(known);
    let text = plain.fold(text.to_owned(), |text, (plain, entity)| {
        text.replace(entity, plain)
    });
    text.replace("&amp;", "&")
}

/// Returns the attributes of all elements with this class.
pub(super) fn with_class<'p>(parts: &'p [Part], class: &str) -> Vec<&'p BTreeMap<String, String>> {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Start(_, attributes) => Some(attributes),
            _ => None,
        })
        .filter(|attributes| {
            let classes = attributes.get("class").map_or("", String::as_str);
            classes.split(' ').any(|word| word == class)
        })
        .collect()
}

/// Returns the text without markup, style and script.
pub(super) fn text(parts: &[Part]) -> String {
    let mut out = String::new();
    let mut is_raw = false;
    for part in parts {
        match part {
            Part::Start(name, _) => is_raw = name == "style" || name == "script",
            Part::End(_) => is_raw = false,
            Part::Text(text) if !is_raw => {
                out.push_str(text);
                out.push('\n');
            }
            Part::Text(_) => {}
        }
    }
    out
}

/// Returns the content of the only element with this name.
pub(super) fn content<'h>(html: &'h str, element: &str) -> &'h str {
    let (_, rest) = html.split_once(&format!("<{element}")).unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    let (content, rest) = rest.split_once(&format!("</{element}>")).unwrap();
    assert!(
        !rest.contains(&format!("<{element}")),
        "several <{element}>"
    );
    content
}
