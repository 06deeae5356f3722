//! Unified diffs, which `git apply` and `patch` can apply.

use std::fmt::Write as _;

use meshprobe_tree::source::path_of_name;
use similar::{ChangeTag, TextDiff};

use super::escape::escape_control_in_lines;
use crate::terminal_style::{TerminalStyle, Tone};
use meshprobe_engine::engine::Changed;

/// Returns the diff of one file. Control characters are escaped only on a terminal; otherwise the diff must stay
/// applicable.
#[must_use]
pub fn diff(changed: &Changed, style: TerminalStyle) -> String {
    let diff = TextDiff::from_lines(&*changed.before, &*changed.after);
    let mut unified = diff.unified_diff();
    let path = path_of_name(changed.path.trim_start_matches('/'));
    let header = |mark: &str, folder: &str| {
        let name = [folder.as_bytes(), path.as_os_str().as_encoded_bytes()].concat();
        style.paint(Tone::Strong, &format!("{mark} {}", header_name(&name)))
    };
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(out, "{}\n{}\n", header("---", "a/"), header("+++", "b/"),);
    for hunk in unified.context_radius(3).iter_hunks() {
        let header = hunk.header().to_string();
        let _ = writeln!(out, "{}", style.paint(Tone::Note, header.trim_end()));
        for change in hunk.iter_changes() {
            line(&mut out, change.tag(), change.value(), style);
        }
    }
    out
}

/// Returns a name as git writes it in the header of a diff. It is printable ASCII: a name with another byte, a quote or a
/// backslash is quoted, and a tab ends a name with a space.
/// Source: git 2.47, `quote.c` (`quote_c_style`) and `diff.c` (`builtin_diff`).
fn header_name(name: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let mut text = String::with_capacity(name.len() + 2);
    for byte in name {
        match byte {
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            0x0b => text.push_str("\\v"),
            0x0c => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            byte if is_plain(byte) => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    match name.iter().all(is_plain) {
        true if name.contains(&b' ') => text + "\t",
        true => text,
        false => format!("\"{text}\""),
    }
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
    let shown = match style.terminal {
        true => escape_control_in_lines(text),
        // No YAML contains ESC, which starts commands of terminals and of the logs of CI systems.
        false if text.contains('\u{1b}') => text.replace('\u{1b}', "\\u{1b}").into(),
        false => text.into(),
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
        let plain = diff(&changed("a\n", "\u{7}\u{1b}[0K\n"), TerminalStyle::PLAIN);
        assert!(plain.contains("+\u{7}\\u{1b}[0K\n"), "{plain}");
    }
}
