//! The normal forms of pasted text, in which differences of terminals, tools and clusters disappear.

use std::borrow::Cow;

/// Returns a text in lower case, without escape sequences of terminals, quotes and backslashes, and with single spaces.
pub(super) fn normal(text: &str) -> String {
    let plain = without_escapes(text);
    let kept = plain.chars().filter(|c| !is_quote(*c));
    let lower: String = kept.flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '\\' | '“' | '”' | '‘' | '’' | '„')
}

/// Removes the escape sequences of terminals that set colours and move the cursor (`ESC [ … letter`).
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix('[').map_or(part, |sequence| {
            let end = sequence.find(|c: char| ('@'..='~').contains(&c));
            end.and_then(|end| sequence.get(end + 1..))
                .unwrap_or_default()
        });
        plain.push_str(rest);
    }
    Cow::Owned(plain)
}

/// Returns the normal form of a text with `@` for each address of a pod or node and without the port from which the
/// kubelet connects, so that a predicted text can be found in a pasted one.
pub(super) fn comparable(text: &str) -> String {
    let normal = normal(text);
    let words: Vec<String> = normal.split(' ').map(word_without_addresses).collect();
    words.join(" ")
}

/// Replaces the addresses of a word: `http://10.0.0.1:8080/`, `10.0.0.1:41234->10.0.0.2:8080:`, `[fd00::1]:8080`,
/// `<pod>:8080`.
fn word_without_addresses(word: &str) -> String {
    let mut replaced = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let at_start = !replaced.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        let length = if at_start { address_length(rest) } else { 0 };
        if length > 0 {
            replaced.push('@');
            rest = rest.get(length..).unwrap_or_default();
            // The port on the side of the kubelet differs in each attempt.
            if let Some(end) = source_port(rest) {
                rest = rest.get(end..).unwrap_or_default();
            }
            continue;
        }
        replaced.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    replaced
}

/// Returns the length of the address at the start of a text; 0 if there is none.
fn address_length(text: &str) -> usize {
    for name in ["<pod>", "<node>"] {
        if text.starts_with(name) {
            return name.len();
        }
    }
    if let Some(inner) = text.strip_prefix('[') {
        let end = inner.find(|c: char| !c.is_ascii_hexdigit() && c != ':' && c != '.');
        let is_address = |end: &usize| {
            inner.get(*end..).is_some_and(|rest| rest.starts_with(']'))
                && inner.get(..*end).is_some_and(|inner| inner.contains(':'))
        };
        return end.filter(is_address).map_or(0, |end| end + 2);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let digits = text.get(..end).unwrap_or_default().trim_end_matches('.');
    let parts: Vec<&str> = digits.split('.').collect();
    let is_address = parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok());
    if is_address { digits.len() } else { 0 }
}

/// Returns the length of `:41234` in front of `->`.
fn source_port(text: &str) -> Option<usize> {
    let digits = text.strip_prefix(':')?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let rest = digits.get(end..)?;
    (end > 0 && rest.starts_with("->")).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_case_colours_and_space_are_normalized() {
        let pasted = "\u{1b}[33mWarning\u{1b}[0m  Unhealthy\t Get \\\"HTTP://x\\\": ‘EOF’\r";
        assert_eq!(normal(pasted), "warning unhealthy get http://x: eof");
    }

    #[test]
    fn addresses_and_source_ports_are_replaced() {
        let predicted = "Get \"http://<pod>:8080/v1.2.3.4x\": read tcp <node>-><pod>:8080: read";
        let expected = "get http://@:8080/v1.2.3.4x: read tcp @->@:8080: read";
        assert_eq!(comparable(predicted), expected);
        let v4 = "Get \"http://10.77.0.2:8080/v1.2.3.4x\": read tcp 10.77.0.1:41234->10.77.0.2:8080: read";
        assert_eq!(comparable(v4), expected);
        let v6 =
            "Get http://[fd00::2]:8080/v1.2.3.4x: read tcp [fd00::1]:41234->[fd00::2]:8080: read";
        assert_eq!(comparable(v6), expected);
        assert_eq!(comparable("1.31.0 [web] [::1"), "1.31.0 [web] [::1");
    }
}
