//! Unified diffs, as `git apply` and `patch` read them.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use crate::engine::Changed;

use super::escape::{visible, visible_lines};
use super::look::{Look, Tone};

/// Writes the change of one file. Only on a terminal are control characters made visible:
/// elsewhere the diff must stay applicable.
#[must_use]
pub fn diff(changed: &Changed, look: Look) -> String {
    let diff = TextDiff::from_lines(&*changed.before, &*changed.after);
    let mut unified = diff.unified_diff();
    let path = changed.path.trim_start_matches('/');
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{}\n{}\n",
        look.paint(Tone::Strong, &format!("--- a/{}", visible(path))),
        look.paint(Tone::Strong, &format!("+++ b/{}", visible(path)))
    );
    for hunk in unified.context_radius(3).iter_hunks() {
        let header = hunk.header().to_string();
        let _ = writeln!(out, "{}", look.paint(Tone::Note, header.trim_end()));
        for change in hunk.iter_changes() {
            line(&mut out, change.tag(), change.value(), look);
        }
    }
    out
}

fn line(out: &mut String, tag: ChangeTag, value: &str, look: Look) {
    let text = value.strip_suffix('\n');
    let ends = text.is_some();
    let text = text.unwrap_or(value);
    let (sign, tone) = match tag {
        ChangeTag::Equal => (' ', None),
        ChangeTag::Delete => ('-', Some(Tone::Error)),
        ChangeTag::Insert => ('+', Some(Tone::Good)),
    };
    let shown = if look.terminal {
        visible_lines(text)
    } else {
        text.into()
    };
    let whole = format!("{sign}{shown}");
    match tone {
        Some(tone) => out.push_str(&look.paint(tone, &whole)),
        None => out.push_str(&whole),
    }
    out.push('\n');
    if !ends {
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
            Look::PLAIN,
        );
        assert_eq!(
            text,
            "--- a/a/x.yaml\n+++ b/a/x.yaml\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn terminals_never_see_control_characters() {
        let look = Look {
            terminal: true,
            ..Look::PLAIN
        };
        assert!(diff(&changed("a\n", "\u{7}\n"), look).contains("\\u{7}"));
        assert!(diff(&changed("a\n", "\u{7}\n"), Look::PLAIN).contains('\u{7}'));
    }
}
