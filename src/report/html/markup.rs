//! Text in HTML, which its type escapes.

use maud::{Render, html};

use crate::report::escape::{escape_control, starts_command};

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
