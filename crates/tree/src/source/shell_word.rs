//! Arguments in command lines that messages recommend.

/// Quotes an argument for a POSIX shell, unless it needs no quotes. An argument is never read as an option.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |char: char| {
        char.is_ascii_alphanumeric()
            || matches!(char, '_' | '.' | '/' | ':' | '@' | '+' | '=' | ',' | '-')
    };
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text.to_owned()
    };
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn text_of_manifests_cannot_run_a_command() {
        assert_eq!(shell_word("$(rm -rf .)"), "'$(rm -rf .)'");
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
        assert_eq!(shell_word("--post-renderer=x"), "'./--post-renderer=x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\nb"), "'a\nb'");
    }
}
