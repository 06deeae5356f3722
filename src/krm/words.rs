//! Texts in the words of a function: its configuration has keys, and no options.

use meshprobe_mesh::finding::{Finding, docs_url};

/// Returns the help of a finding. Alternatives that a function does not have are left out; if none is left, it names the
/// page of the rule.
pub(super) fn help(finding: &Finding) -> Option<String> {
    let mut text = String::new();
    for sentence in finding.help.as_deref()?.split("; ") {
        let mut separator = if text.is_empty() { "" } else { "; " };
        for part in sentence.split(", or ").filter_map(with_keys) {
            let verb = if part.starts_with('`') { "use " } else { "" };
            text.push_str(&format!("{separator}{verb}{part}"));
            separator = ", or ";
        }
    }
    if text.is_empty() {
        text = format!("see {}", docs_url(finding.rule));
    }
    Some(text)
}

/// Returns a text with keys instead of options; unchanged if a function has no key for one of them.
pub(super) fn message(text: &str) -> String {
    with_keys(text).unwrap_or_else(|| text.to_owned())
}

/// Returns an assumption, without the option that settles it if a function has no key for it.
pub(super) fn assumption(text: &str) -> String {
    let fact = text.rsplit_once(" [--").map_or(text, |(fact, _)| fact);
    with_keys(text).unwrap_or_else(|| fact.to_owned())
}

/// Replaces the options of a text by keys; returns `None` if a function has no key for one of them. Options are between
/// backticks, brackets or parentheses.
fn with_keys(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, options) = rest.split_at(at);
        let end = options.find(['`', ']', ')']).unwrap_or(options.len());
        let (options, behind) = options.split_at(end);
        // An option of a command.
        if !before.ends_with(['`', '[', '(']) {
            return None;
        }
        out.push_str(before);
        out.push_str(&keys(options)?);
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the keys for a list of options, such as `mesh: {version: 1.28}` for `--mesh-version 1.28`.
fn keys(options: &str) -> Option<String> {
    let (mut assume, mut mesh, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut words = options
        .split([' ', '='])
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(option) = words.next() {
        let mut value = || words.next_if(|word| !word.starts_with("--"));
        match (option, value()) {
            ("--assume", Some(key)) => assume.push(format!("{key}: {}", value()?)),
            ("--assume", None) => others.push("assume".to_owned()),
            ("--context", _) => others.push("context".to_owned()),
            ("--form", Some(form)) => others.push(format!("form: {form}")),
            ("--mesh", Some(kind)) => mesh.push(format!("kind: {kind}")),
            ("--mesh-version", Some(version)) => mesh.push(format!("version: {version}")),
            ("--mesh-version", None) => others.push("mesh.version".to_owned()),
            _ => return None,
        }
    }
    let map = |name: &str, entries: Vec<String>| {
        (!entries.is_empty()).then(|| format!("{name}: {{{}}}", entries.join(", ")))
    };
    others.extend(map("assume", assume));
    others.extend(map("mesh", mesh));
    Some(others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshprobe_mesh::finding::{Label, Severity, rule_id};
    use meshprobe_yaml::Span;

    fn helped(text: &str) -> String {
        let label = Label {
            path: "stdin".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let mut finding = Finding::new(rule_id!("r"), Severity::Error, label, "m".into());
        finding.help = Some(text.to_owned());
        help(&finding).unwrap()
    }

    #[test]
    fn options_become_keys_of_the_configuration() {
        for (options, keys) in [
            (
                "add it (`--context`), or use `--assume injection=all --assume revision=x`",
                "add it (`context`), or use `assume: {injection: all, revision: x}`",
            ),
            (
                "set the release with `--mesh-version`",
                "set the release with `mesh.version`",
            ),
            (
                "use `--form container`, or `--allow release-not-proven` after a test",
                "use `form: container`",
            ),
            (
                "rewrite the output, or use `--override injection=all`",
                "rewrite the output",
            ),
            (
                "use `--mesh kuma --mesh-version 2.10`",
                "use `mesh: {kind: kuma, version: 2.10}`",
            ),
            ("correct the port", "correct the port"),
        ] {
            assert_eq!(helped(options), keys);
        }
        for command in [
            "use `--allow knative`",
            "undo it: `meshprobe rewrite --undo --context . -`",
        ] {
            assert!(helped(command).starts_with("see https://"), "{command}");
        }
        assert_eq!(assumption("it is so [--override mtls=MODE]"), "it is so");
        assert_eq!(
            assumption("it is so [--assume rewrite=true|false]"),
            "it is so [assume: {rewrite: true|false}]"
        );
        assert_eq!(
            message("mTLS is STRICT (--assume)"),
            "mTLS is STRICT (assume)"
        );
    }
}
