//! Plain text of SARIF messages, with embedded links (SARIF 2.1.0, 3.11.6).

/// The characters that a link text contains only after a backslash.
const ESCAPED: [char; 3] = ['[', ']', '\\'];

/// Returns a link to the related location with this id.
pub(super) fn link(text: &str, id: usize) -> String {
    format!("[{}]({id})", escaped(text))
}

/// Returns text that contains no links. Its brackets are escaped only if they could be read as a part of a link, because
/// outside of links some viewers show the backslashes.
pub(super) fn plain_text(text: &str) -> String {
    if text.contains("](") {
        escaped(text)
    } else {
        text.to_owned()
    }
}

/// Returns text that contains no links, for a message that contains others: a bracket without its counterpart could be read
/// as a part of them.
pub(super) fn text_next_to_links(text: &str) -> String {
    if has_paired_brackets(text) {
        plain_text(text)
    } else {
        escaped(text)
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if ESCAPED.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns whether each `[` is followed by its `]`, before any other `[`.
fn has_paired_brackets(text: &str) -> bool {
    let mut is_open = false;
    for c in text.chars() {
        match (c, is_open) {
            ('[', false) => is_open = true,
            (']', true) => is_open = false,
            ('[' | ']', _) => return false,
            _ => {}
        }
    }
    !is_open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_link_is_escaped() {
        assert_eq!(link("a[0]\\b", 2), "[a\\[0\\]\\\\b](2)");
    }

    #[test]
    fn other_text_contains_no_links() {
        assert_eq!(plain_text("x [--assume y]"), "x [--assume y]");
        assert_eq!(plain_text("C:\\x"), "C:\\x");
        assert_eq!(plain_text("[x](1)"), "\\[x\\](1)");
        for text in ["[", "a] b"] {
            assert_eq!(plain_text(text), text);
        }
        assert_eq!(text_next_to_links("[a](b) [c]"), "\\[a\\](b) \\[c\\]");
        assert_eq!(text_next_to_links("[c]"), "[c]");
        assert_eq!(text_next_to_links("a [ b"), "a \\[ b");
        assert_eq!(text_next_to_links("a ] b"), "a \\] b");
        assert_eq!(text_next_to_links("[[x]]"), "\\[\\[x\\]\\]");
    }
}
