//! Unified diffs, which `git apply` and `patch` can apply.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use crate::engine::Changed;

use super::escape::{escape_control, escape_control_in_lines};
use crate::report::terminal_style::{TerminalStyle, Tone};

/// Returns the diff of one file. Control characters are escaped only on a terminal; otherwise the diff must stay
/// applicable.
#[must_use]
pub fn diff(changed: &Changed, style: TerminalStyle) -> String {
    let diff = TextDiff::from_lines(&*changed.before, &*changed.after);
    let mut unified = diff.unified_diff();
    let path = changed.path.trim_start_matches('/');
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{}\n{}\n",
        style.paint(Tone::Strong, &format!("--- a/{}", escape_control(path))),
        style.paint(Tone::Strong, &format!("+++ b/{}", escape_control(path)))
    );
    for hunk in unified.context_radius(3).iter_hunks() {
        let header = hunk.header().to_string();
        let _ = writeln!(out, "{}", style.paint(Tone::Note, header.trim_end()));
        for change in hunk.iter_changes() {
            line(&mut out, change.tag(), change.value(), style);
        }
    }
    out
}

fn line(out: &mut String, tag: ChangeTag, value: &str, style: TerminalStyle) {
    let (text, has_line_break) = match value.strip_suffix('\n') {
        Some(text) => (text, true),
        None => (value, false),
    };
    let (sign, tone) = match tag {
        ChangeTag::Equal => (' ', None),
        ChangeTag::Delete => ('-', Some(Tone::Error)),
        ChangeTag::Insert => ('+', Some(Tone::Good)),
    };
    let shown = if style.terminal {
        escape_control_in_lines(text)
    } else {
        text.into()
    };
    let diff_line = format!("{sign}{shown}");
    match tone {
        Some(tone) => out.push_str(&style.paint(tone, &diff_line)),
        None => out.push_str(&diff_line),
    }
    out.push('\n');
    if !has_line_break {
        out.push_str("\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn changed(before: &str, after: &str) -> Changed {
        Changed {
            path: Arc::from("a/x.yaml"),
            location: None,
            before: Arc::from(before),
            after: Arc::from(after),
        }
    }

    #[test]
    fn hunks_are_unified() {
        let text = diff(
            &changed("a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nE\nf"),
            TerminalStyle::PLAIN,
        );
        assert_eq!(
            text,
            "--- a/a/x.yaml\n+++ b/a/x.yaml\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn control_characters_are_escaped_on_terminals() {
        let style = TerminalStyle {
            terminal: true,
            ..TerminalStyle::PLAIN
        };
        assert!(diff(&changed("a\n", "\u{7}\n"), style).contains("\\u{7}"));
        assert!(diff(&changed("a\n", "\u{7}\n"), TerminalStyle::PLAIN).contains('\u{7}'));
    }
}
