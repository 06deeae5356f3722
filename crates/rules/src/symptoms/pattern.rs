//! The patterns of symptoms, and the normal form of the texts that they match.

use std::borrow::Cow;

/// How much a text says about the cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    /// The state of a pod or container, such as `CrashLoopBackOff`.
    State,
    /// An event without its reason, such as `Startup probe failed`.
    Event,
    /// The error that the kubelet, the API server or the agent prints.
    Error,
    /// An error that names its place, such as the port of the agent.
    Place,
}

/// A pattern: texts that a line contains in this order.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// How much the texts say about the cause.
    pub specificity: Specificity,
    /// The texts, in the form that [`normal_line`](super::normal_line) returns.
    pub fragments: &'static [&'static str],
}

impl Pattern {
    /// Returns the number of bytes of the fragments: of two patterns that match, the longer one is more specific.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fragments.iter().map(|fragment| fragment.len()).sum()
    }

    /// Returns whether the pattern has no fragments, so that it would match every line.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Returns whether a line in normal form contains the fragments in order. `distance` limits the number of bytes
    /// between two of them.
    pub(super) fn matches(&self, line: &str, distance: Option<usize>) -> bool {
        let Some((first, others)) = self.fragments.split_first() else {
            return false;
        };
        let mut starts = whole_matches(line, first).map(|at| at + first.len());
        let from = |start: usize| follow(line.get(start..).unwrap_or_default(), others, distance);
        match distance {
            // Without a limit, the first occurrence decides; trying all would be quadratic.
            None => starts.next().is_some_and(from),
            Some(_) => starts.any(from),
        }
    }
}

/// Returns whether the fragments follow each other in a text.
fn follow(mut text: &str, fragments: &[&str], distance: Option<usize>) -> bool {
    fragments.iter().all(|fragment| {
        let window = match distance {
            Some(distance) => start_of(text, distance + fragment.len()),
            None => text,
        };
        let Some(at) = whole_matches(window, fragment).next() else {
            return false;
        };
        text = text.get(at + fragment.len()..).unwrap_or_default();
        true
    })
}

/// Returns where a text contains a fragment. A fragment that ends with a number does not match the start of a longer one.
fn whole_matches(text: &str, fragment: &str) -> impl Iterator<Item = usize> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let ends_with_number = is_digit(fragment.as_bytes().last());
    text.match_indices(fragment).filter_map(move |(at, _)| {
        let next = text.as_bytes().get(at + fragment.len());
        (!ends_with_number || !is_digit(next)).then_some(at)
    })
}

/// Returns the first bytes of a text, at most `length`, without a part of a character.
fn start_of(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

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
