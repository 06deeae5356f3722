//! Keeps control characters of manifests away from terminals.

use std::borrow::Cow;

/// Returns the text with every character that could steer a terminal, or turn the direction of
/// writing, shown as `\u{…}`. Line breaks and tabs become blanks.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_visible(&mut out, c);
    }
    Cow::Owned(out)
}

/// Like [`visible`], but keeps line breaks and tabs: for whole texts.
pub(super) fn visible_lines(text: &str) -> Cow<'_, str> {
    let keep = |c: char| is_harmless(c) || matches!(c, '\n' | '\t' | '\r');
    if text.chars().all(keep) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if keep(c) {
            out.push(c);
        } else {
            push_visible(&mut out, c);
        }
    }
    Cow::Owned(out)
}

/// Returns JSON with the characters escaped that JSON itself would let through.
#[must_use]
pub fn json_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_harmless(c) || c == '\n' {
            out.push(c);
        } else {
            // All of them lie in the first plane, and only ever inside of strings.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    out
}

pub(super) fn push_visible(out: &mut String, c: char) {
    match c {
        '\n' | '\t' | '\r' => out.push(' '),
        c if is_harmless(c) => out.push(c),
        c => out.extend(c.escape_unicode()),
    }
}

fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_bidirectional(c) && !is_unseen(c)
}

/// The characters behind "Trojan Source": they show a line in another order than it is read.
const fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What takes no room, and what some programs end a line at.
const fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(visible("a\nb\u{9b}\u{202e}"), "a b\\u{9b}\\u{202e}");
        assert_eq!(
            visible("\u{61c}\u{200b}\u{2028}"),
            "\\u{61c}\\u{200b}\\u{2028}"
        );
        assert!(matches!(visible("größe…"), Cow::Borrowed(_)));
        assert_eq!(visible_lines("a\n\tb\u{7}"), "a\n\tb\\u{7}");
        assert_eq!(
            json_safe("{\"a\u{9b}\u{7f}\": 1}\n"),
            "{\"a\\u009b\\u007f\": 1}\n"
        );
    }
}
