//! How suppressions are written: `ignore[rule-a, rule-b] reason` in comments,
//! `rule-id[@container]: reason` in annotations.

/// What every directive in a comment starts with.
const MARK: &str = "meshprobe:";

/// A rule as a directive names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) rule: String,
    /// For findings about this container only.
    pub(super) container: Option<String>,
}

/// What a directive says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) names: Vec<Name>,
    /// Empty where none is given.
    pub(super) reason: String,
}

/// Reads a comment, `#` included; `None` for one that speaks of something else.
///
/// # Errors
/// The comment speaks to meshprobe and is not understood.
pub(super) fn of_comment(comment: &str) -> Option<Result<Said, ()>> {
    let said = comment.trim_start_matches('#').trim().strip_prefix(MARK)?;
    Some(read(said.trim()).ok_or(()))
}

fn read(said: &str) -> Option<Said> {
    let list = said
        .strip_prefix("ignore")?
        .trim_start()
        .strip_prefix('[')?;
    let (list, reason) = list.split_once(']')?;
    let names: Vec<Name> = list.split(',').map(name).collect();
    let said = Said {
        names,
        reason: trimmed(reason),
    };
    said.names
        .iter()
        .all(|name| !name.rule.is_empty())
        .then_some(said)
}

/// Reads a line of an annotation; `None` for an empty one.
pub(super) fn of_annotation(line: &str) -> Option<Said> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let (rule, reason) = line.split_once(':').unwrap_or((line, ""));
    Some(Said {
        names: vec![name(rule)],
        reason: trimmed(reason),
    })
}

fn name(text: &str) -> Name {
    let (rule, container) = match text.trim().split_once('@') {
        Some((rule, container)) => (rule, Some(container.trim().to_owned())),
        None => (text, None),
    };
    Name {
        rule: rule.trim().to_owned(),
        container,
    }
}

fn trimmed(reason: &str) -> String {
    let lead = |c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—');
    reason.trim_start_matches(lead).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(said: &Said) -> String {
        let names: Vec<String> = said
            .names
            .iter()
            .map(|name| format!("{}@{:?}", name.rule, name.container))
            .collect();
        format!("{} | {}", names.join(" "), said.reason)
    }

    #[test]
    fn comments_are_read() {
        let read = |text: &str| of_comment(text).map(|said| said.map(|said| shown(&said)));
        let good = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(read("# meshprobe: ignore[a-b] why"), good("a-b@None | why"));
        assert_eq!(
            read("#meshprobe:ignore [a, b@web]: because: x"),
            good("a@None b@Some(\"web\") | because: x")
        );
        assert_eq!(read("# meshprobe: ignore[a]"), good("a@None | "));
        for bad in [
            "ignore",
            "ignore[] x",
            "ignore[a, ] x",
            "ignor[a] x",
            "ignore[a x",
        ] {
            assert_eq!(read(&format!("# meshprobe: {bad}")), Some(Err(())), "{bad}");
        }
        for other in [
            "# mesh",
            "# see meshprobe: ignore[a] b",
            "# meshprobe check -q",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn annotations_are_read() {
        let read = |text: &str| of_annotation(text).map(|said| shown(&said));
        assert_eq!(
            read(" a@web: b: c "),
            Some("a@Some(\"web\") | b: c".to_owned())
        );
        assert_eq!(read("a"), Some("a@None | ".to_owned()));
        assert_eq!(read("  "), None);
    }
}
