//! Wraps lines of text for people.

/// Wraps `text` at spaces so that lines are at most `width` wide, unless a word is longer. The first line starts with
/// `first`, all others with `hang` spaces. Words are not broken, so that paths and commands can be copied.
#[must_use]
pub fn wrap(text: &str, first: &str, hang: usize, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    out.push_str(first);
    let mut column = printed_width(first);
    let mut is_first = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !is_first && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        is_first = false;
    }
    out
}

/// Wraps `text` like [`wrap`], and adds `note` to its last line, or on a line of its own if it does not fit.
pub(super) fn wrap_with_note(
    text: &str,
    note: &str,
    first: &str,
    hang: usize,
    width: usize,
) -> String {
    let mut out = wrap(text, first, hang, width);
    if note.is_empty() {
        return out;
    }
    let column = out.lines().last().map_or(0, printed_width);
    let length = printed_width(note);
    if column + 1 + length <= width {
        out.push(' ');
        out.push_str(note);
    } else {
        out.push('\n');
        out.push_str(&wrap(note, &" ".repeat(hang), hang, width));
    }
    out
}

/// Returns the width of a text in columns, without escape sequences for colours.
pub(super) fn printed_width(text: &str) -> usize {
    let mut width = 0;
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if !inside => width += 1,
            _ => {}
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_spaces() {
        assert_eq!(wrap("aa bb cc", "x: ", 2, 8), "x: aa bb\n  cc");
        assert_eq!(wrap("a-very-long-word b", "", 1, 5), "a-very-long-word\n b");
        assert_eq!(printed_width("\u{1b}[1;31mab\u{1b}[0m"), 2);
    }
}
