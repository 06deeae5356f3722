//! HTML that can only be built from escaped text.

use crate::report::escape::{escape_control, starts_command};

/// A piece of HTML. All text in it is escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markup(String);

impl Markup {
    /// Returns an empty piece.
    pub(super) const fn new() -> Self {
        Self(String::new())
    }

    /// Returns text, with control and bidirectional characters escaped as in all reports.
    pub(super) fn text(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 8);
        push_escaped(&mut out, &escape_control(text), Quotes::Kept);
        Self(out)
    }

    /// Returns a message, in which text between backticks is code. A message with an odd number of backticks, because of a
    /// value from a manifest, is plain text.
    pub(super) fn message(text: &str) -> Self {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return Self::text(text);
        }
        let mut out = Self::new();
        for (number, part) in parts.iter().enumerate() {
            let text = Self::text(part);
            match number % 2 {
                0 => out.push(text),
                _ => out.push(element("code").holding(text)),
            }
        }
        out
    }

    /// Returns HTML or another language of this program, which contains no text of a manifest.
    pub(super) fn own(source: &'static str) -> Self {
        Self(source.to_owned())
    }

    pub(super) fn push(&mut self, other: Self) {
        if self.0.is_empty() {
            self.0 = other.0;
        } else {
            self.0.push_str(&other.0);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl FromIterator<Self> for Markup {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        let mut out = Self::new();
        for part in parts {
            out.push(part);
        }
        out
    }
}

/// The start tag of an element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    name: &'static str,
    start: String,
}

/// Starts an element.
pub(super) fn element(name: &'static str) -> Element {
    Element {
        name,
        start: format!("<{name}"),
    }
}

impl Element {
    /// Adds an attribute.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.start.push_str(&format!(" {name}=\""));
        push_escaped(&mut self.start, &escape_control(value), Quotes::Escaped);
        self.start.push('"');
        self
    }

    /// Adds an attribute, unless its value is empty.
    pub(super) fn with_some(self, name: &'static str, value: &str) -> Self {
        match value {
            "" => self,
            value => self.with(name, value),
        }
    }

    /// Adds an attribute without a value.
    pub(super) fn flag(mut self, name: &'static str) -> Self {
        self.start.push(' ');
        self.start.push_str(name);
        self
    }

    /// Adds the attribute `class`.
    pub(super) fn class(self, class: &str) -> Self {
        self.with("class", class)
    }

    /// Returns the element with content.
    pub(super) fn holding(self, content: Markup) -> Markup {
        let Self {
            name,
            start: mut out,
        } = self;
        out.push('>');
        out.push_str(&content.0);
        out.push_str(&format!("</{name}>"));
        Markup(out)
    }

    /// Returns the element with text as content.
    pub(super) fn text(self, text: &str) -> Markup {
        self.holding(Markup::text(text))
    }

    /// Returns the element with a message as content.
    pub(super) fn message(self, text: &str) -> Markup {
        self.holding(Markup::message(text))
    }

    /// Returns a void element, such as `meta`.
    pub(super) fn void(self) -> Markup {
        Markup(self.start + ">")
    }
}

/// Whether quotes are escaped: in attributes, but not in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Escaped,
    Kept,
}

/// Escapes text for the content of elements, or for attributes in double quotes, and the `#` of commands of CI systems.
fn push_escaped(out: &mut String, text: &str, quotes: Quotes) {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '#' if starts_command(rest.as_str()) => out.push_str("&#35;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if quotes == Quotes::Escaped => out.push_str("&quot;"),
            '\'' if quotes == Quotes::Escaped => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_contains_no_markup() {
        let hostile = "</script><!--<b a='1' c=\"2\">&amp;\u{202e}\u{0}\n";
        let expected = "&lt;/script&gt;&lt;!--&lt;b a='1' c=\"2\"&gt;&amp;amp;\\u{202e}\\u{0} ";
        assert_eq!(Markup::text(hostile).into_string(), expected);
        let expected = expected.replace('"', "&quot;").replace('\'', "&#39;");
        let attribute = element("p").with("title", hostile).void().into_string();
        assert_eq!(attribute, format!("<p title=\"{expected}\">"));
    }

    #[test]
    fn code_in_messages_is_an_element() {
        let shown = |text| Markup::message(text).into_string();
        assert_eq!(
            shown("port `<a>` fails"),
            "port <code>&lt;a&gt;</code> fails"
        );
        assert_eq!(shown("odd ` <b>"), "odd ` &lt;b&gt;");
    }
}
