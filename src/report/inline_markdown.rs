//! Text in Markdown for editors, which show it without HTML, and some of them with its escapes.

use super::escape::escape_control;

/// Converts a message to Markdown with few escapes. Text between backticks is code, and all other text is plain. If the
/// number of backticks is odd because of a value from a manifest, the whole message is plain.
#[must_use]
pub fn inline_markdown(text: &str) -> String {
    let text = escape_control(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An even number of backticks yields an odd number of parts.
    if parts.len().is_multiple_of(2) {
        return plain(&text);
    }
    let texts = parts.iter().enumerate().map(|(number, part)| {
        if number % 2 == 0 {
            plain(part)
        } else {
            code_span(part)
        }
    });
    texts.collect()
}

/// Returns a text as code. A value with backticks is delimited by more of them.
#[must_use]
pub fn code_span(text: &str) -> String {
    let text = escape_control(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Escapes the characters that start markup within a line, and the links that editors recognize.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let starts_markup = matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|'
        );
        if starts_markup || c == ':' && rest.as_str().starts_with("//") {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_manifest_contains_no_markup() {
        for (text, markdown) in [
            ("port 80 of `a*b`", "port 80 of `a*b`"),
            ("<img> [x](y)", "\\<img\\> \\[x\\](y)"),
            ("odd ` one", "odd \\` one"),
            ("see https://x", "see https\\://x"),
            ("a\nb", "a b"),
            ("empty ``", "empty `  `"),
        ] {
            assert_eq!(inline_markdown(text), markdown, "{text:?}");
        }
        assert_eq!(code_span("a`b``c"), "```a`b``c```");
        assert_eq!(code_span("`"), "`` ` ``");
    }
}
