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
    let fence = backticks(&text, 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Returns a text as a fenced block of a language. A text with backticks is delimited by more of them, so that no line of
/// it ends the block. Control characters are kept, because a program may read the block.
#[must_use]
pub fn fenced_block(language: &str, text: &str) -> String {
    let fence = backticks(text, 3);
    let line_break = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{line_break}{fence}\n")
}

/// Returns more backticks than any run of them in a text, and at least `least`.
fn backticks(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    "`".repeat(least.max(longest.unwrap_or_default() + 1))
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

    #[test]
    fn text_of_a_manifest_does_not_end_a_block() {
        for (text, block) in [
            ("+a\n", "```diff\n+a\n```\n"),
            ("+a", "```diff\n+a\n```\n"),
            ("x\n ```\n x\n", "````diff\nx\n ```\n x\n````\n"),
            ("a\r`````\r", "``````diff\na\r`````\r\n``````\n"),
        ] {
            assert_eq!(fenced_block("diff", text), block);
        }
    }
}
