//! Parses suppressions: `ignore[rule-a, rule-b] reason` in comments, `rule-id[@container]: reason` in annotations.

/// The start of every suppression in a comment.
const MARK: &str = "meshprobe:";

/// A rule in a suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) rule: String,
    /// The container whose findings are suppressed; `None` for all findings.
    pub(super) container: Option<String>,
}

/// A parsed suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedSuppression {
    pub(super) names: Vec<Name>,
    /// The reason; empty if it is missing.
    pub(super) reason: String,
}

/// Parses a comment, including `#`. Returns `None` for a comment that does not start with `meshprobe:`.
///
/// # Errors
/// The comment starts with `meshprobe:`, but is not a valid suppression.
pub(super) fn of_comment(comment: &str) -> Option<Result<ParsedSuppression, ()>> {
    let text = comment.trim_start_matches('#').trim().strip_prefix(MARK)?;
    Some(parse(text.trim()).ok_or(()))
}

fn parse(text: &str) -> Option<ParsedSuppression> {
    let list = text
        .strip_prefix("ignore")?
        .trim_start()
        .strip_prefix('[')?;
    let (list, reason) = list.split_once(']')?;
    let names: Vec<Name> = list.split(',').map(name).collect();
    let is_complete = names.iter().all(|name| !name.rule.is_empty());
    is_complete.then(|| ParsedSuppression {
        names,
        reason: trimmed(reason),
    })
}

/// Parses a line of an annotation; returns `None` for an empty line.
pub(super) fn of_annotation(line: &str) -> Option<ParsedSuppression> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let (rule, reason) = line.split_once(':').unwrap_or((line, ""));
    Some(ParsedSuppression {
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
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—');
    reason
        .trim_start_matches(is_separator)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(suppression: &ParsedSuppression) -> String {
        let names: Vec<String> = suppression
            .names
            .iter()
            .map(|name| format!("{}@{:?}", name.rule, name.container))
            .collect();
        format!("{} | {}", names.join(" "), suppression.reason)
    }

    #[test]
    fn comments_are_parsed() {
        let parsed =
            |text: &str| of_comment(text).map(|result| result.map(|parsed| shown(&parsed)));
        let good = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(
            parsed("# meshprobe: ignore[a-b] why"),
            good("a-b@None | why")
        );
        assert_eq!(
            parsed("#meshprobe:ignore [a, b@web]: because: x"),
            good("a@None b@Some(\"web\") | because: x")
        );
        assert_eq!(parsed("# meshprobe: ignore[a]"), good("a@None | "));
        for bad in [
            "ignore",
            "ignore[] x",
            "ignore[a, ] x",
            "ignor[a] x",
            "ignore[a x",
        ] {
            assert_eq!(
                parsed(&format!("# meshprobe: {bad}")),
                Some(Err(())),
                "{bad}"
            );
        }
        for other in [
            "# mesh",
            "# see meshprobe: ignore[a] b",
            "# meshprobe check -q",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn annotations_are_parsed() {
        let parsed = |text: &str| of_annotation(text).map(|parsed| shown(&parsed));
        assert_eq!(
            parsed(" a@web: b: c "),
            Some("a@Some(\"web\") | b: c".to_owned())
        );
        assert_eq!(parsed("a"), Some("a@None | ".to_owned()));
        assert_eq!(parsed("  "), None);
    }
}
