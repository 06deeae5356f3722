//! Recognition of Kubernetes manifests in text that was not parsed.

use memchr::{memchr_iter, memmem};

/// Byte sequences after which a line starts: the line breaks of YAML 1.1, and a byte order mark.
const STARTS: [&[u8]; 6] = [
    b"\n",
    b"\r",
    "\u{feff}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{2029}".as_bytes(),
];

/// Returns whether a text that cannot be parsed is probably a Kubernetes manifest: it has `apiVersion:` and `kind:` at
/// the start of a line, with or without quotes, or as quoted keys in JSON. Letters in double quotes may be escaped.
pub(super) fn looks_like_kubernetes(source: &[u8]) -> bool {
    let start = source.trim_ascii_start();
    // A template may start with `{{`.
    let json = start.starts_with(b"{") && !start.starts_with(b"{{");
    let has = |key: &str| match json {
        true => has_quoted(source, key, |_, _| true),
        false => has_line(source, key),
    };
    has("apiVersion") && has("kind")
}

/// Returns whether a line starts with a key.
fn has_line(source: &[u8], key: &str) -> bool {
    let starts_line = |at: usize| {
        let before = source.get(..at).unwrap_or_default();
        before.is_empty() || STARTS.iter().any(|start| before.ends_with(start))
    };
    let has_plain = ["", "'"].iter().any(|quote| {
        let needle = format!("{quote}{key}{quote}:");
        memmem::find_iter(source, &needle).any(starts_line)
    });
    has_plain
        || has_quoted(source, key, |at, end| {
            source.get(end) == Some(&b':') && starts_line(at)
        })
}

/// Returns whether a text contains a key in double quotes for which `accepts` returns `true`. `accepts` receives the
/// offsets of the first quote and of the end after the last quote.
fn has_quoted(source: &[u8], key: &str, accepts: impl Fn(usize, usize) -> bool) -> bool {
    memchr_iter(b'"', source).any(|at| {
        let end = key.bytes().chain([b'"']).try_fold(at + 1, |at, expected| {
            let (byte, length) = character(source.get(at..)?)?;
            (byte == expected).then_some(at + length)
        });
        end.is_some_and(|end| accepts(at, end))
    })
}

/// Returns the character, up to U+00FF, at the start of a text in double quotes, and its number of bytes in the text.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    let digits = match text {
        [b'\\', b'x', ..] => 2,
        [b'\\', b'u', ..] => 4,
        [b'\\', b'U', ..] => 8,
        [] | [b'\\', ..] => return None,
        [byte, ..] => return Some((*byte, 1)),
    };
    let end = 2 + digits;
    let digits = std::str::from_utf8(text.get(2..end)?).ok()?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((u8::try_from(code).ok()?, end))
}
