//! Breaks lines for people.

/// Breaks `text` at blanks so that no line is wider than `width`; the first line starts with
/// `first`, all others with as many blanks as `hang`. Words are never broken: they are paths and
/// commands to be copied.
#[must_use]
pub fn wrap(text: &str, first: &str, hang: usize, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    out.push_str(first);
    let mut column = printed_width(first);
    let mut fresh = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !fresh && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        } else if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        fresh = false;
    }
    out
}

/// The number of columns that a text takes, escape sequences for colours left out.
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
    fn lines_break_at_blanks() {
        assert_eq!(wrap("aa bb cc", "x: ", 2, 8), "x: aa bb\n  cc");
        assert_eq!(wrap("a-very-long-word b", "", 1, 5), "a-very-long-word\n b");
        assert_eq!(printed_width("\u{1b}[1;31mab\u{1b}[0m"), 2);
    }
}
