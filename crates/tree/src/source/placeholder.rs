//! Placeholders: values that another tool fills in later, and that are therefore unknown.

/// Returns whether `text` contains a placeholder, so that its final value is unknown.
///
/// Recognizes `${NAME}` with any default (Flux, envsubst), a bare `$NAME` in capitals (envsubst), `{{ … }}` (Helm, Go
/// and Jinja templates), `#{NAME}` (Azure Pipelines, Octopus Deploy), `%%NAME%%` and `@NAME@` in capitals (sed scripts,
/// Maven). Does not recognize `$(NAME)` (expanded by the kubelet), `$$`, `<name>` and `__NAME__`, because they can be
/// ordinary values in manifests.
#[must_use]
pub fn contains(text: &str) -> bool {
    let bytes = text.as_bytes();
    if memchr::memchr3(b'$', b'{', b'@', bytes).is_none() && !text.contains("%%") {
        return false;
    }
    text.match_indices("{{")
        .any(|(at, _)| is_template_expression(text, at))
        || enclosed(text, "#{", "}")
        || enclosed(text, "%%", "%%")
        || text
            .match_indices('$')
            .any(|(at, _)| is_dollar_variable(text, at))
        || text
            .match_indices('@')
            .any(|(at, _)| is_between_at_signs(text, at))
}

/// Returns whether `{{ … }}` starts at an offset. Text that ends with a single brace is YAML, for example
/// `{{a: b}: c}`, unless it contains braces or quotes before that.
fn is_template_expression(text: &str, at: usize) -> bool {
    let rest = text.get(at + 2..).unwrap_or_default();
    let Some((inner, behind)) = rest.split_once('}') else {
        return false;
    };
    behind.starts_with('}') || (inner.contains(['{', '"', '\'', '`']) && behind.contains("}}"))
}

/// Returns whether `${…}`, or `$NAME` in capitals, starts at an offset. `$$` is an escape in both envsubst and
/// Kubernetes.
fn is_dollar_variable(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    if before.ends_with('$') {
        return false;
    }
    let rest = text.get(at + 1..).unwrap_or_default();
    match rest.strip_prefix('{') {
        Some(inner) => inner.contains('}'),
        None => capitals_length(rest) >= 2,
    }
}

/// Returns whether `@NAME@` starts at an offset.
fn is_between_at_signs(text: &str, at: usize) -> bool {
    let rest = text.get(at + 1..).unwrap_or_default();
    let length = capitals_length(rest);
    length >= 2 && rest.get(length..).is_some_and(|rest| rest.starts_with('@'))
}

fn enclosed(text: &str, open: &str, close: &str) -> bool {
    text.split_once(open).is_some_and(|(_, rest)| {
        rest.find(close)
            .and_then(|end| rest.get(..end))
            .is_some_and(|name| !name.is_empty() && !name.contains(char::is_whitespace))
    })
}

/// Returns the length of the name in capitals at the start of `text`.
fn capitals_length(text: &str) -> usize {
    let is_name = |c: &u8| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == b'_';
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.bytes().take_while(|c| is_name(c)).count()
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn placeholders_are_distinguished_from_values() {
        for text in [
            "${PORT}",
            "a-${ns:=shop}",
            "$NAMESPACE",
            "{{ .Values.port }}",
            "a-{{ index .Values \"}\" }}",
            "{{ {'a': 1}['a'] }}",
            "{{{port}}}",
            "/#{path}#",
            "/#{Path}",
            "%%PORT%%",
            "@PORT@",
        ] {
            assert!(contains(text), "{text}");
        }
        for text in [
            "$(PORT)",
            "/healthz",
            "$",
            "a@b",
            "me@EXAMPLE.COM",
            "100%%",
            "$5",
            "$${PORT}",
            "{}",
            "^a$",
            "__PORT__",
            "{{a: b}: b}",
            "{{a: b}: {c: d}}",
            "{{",
        ] {
            assert!(!contains(text), "{text}");
        }
    }
}
