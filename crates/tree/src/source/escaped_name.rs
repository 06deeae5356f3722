//! Display text of file names.
//!
//! Files are looked up by the text of their path, so different names must have different texts: a byte that is not
//! UTF-8 is written as `\xNN`, and a backslash that begins such a sequence in the name itself as `\x5c`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Start of an escaped byte.
const START: &str = "\\x";

/// Returns the text of a name.
pub(crate) fn escaped_name(name: &OsStr) -> Cow<'_, str> {
    if let Some(name) = name.to_str() {
        return escaped_path(name);
    }
    let mut out = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        out.push_str(&escaped_path(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("{START}{byte:02x}"));
        }
    }
    Cow::Owned(out)
}

/// Returns the display text of a path in a file, for example in a kustomization, which equals that of the file with
/// that path.
pub(crate) fn escaped_path(path: &str) -> Cow<'_, str> {
    if !path.contains(START) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len() + 16);
    let mut rest = path;
    while let Some(at) = rest.find(START) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let behind = found.strip_prefix(START).unwrap_or_default();
        out.push_str(if is_byte(behind) { "\\x5cx" } else { START });
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the path with the display text `text`.
#[cfg(unix)]
pub fn path_of_name(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;

    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(START) {
        path.extend(before.bytes());
        let digits = behind.get(..2).filter(|_| is_byte(behind));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => path.push(byte),
            None => path.extend(START.bytes()),
        }
        rest = digits.map_or(behind, |digits| {
            behind.strip_prefix(digits).unwrap_or_default()
        });
    }
    path.extend(rest.bytes());
    std::ffi::OsString::from_vec(path).into()
}

/// Returns the path with the display text `text`. On this system, names do not contain backslashes.
#[cfg(not(unix))]
pub fn path_of_name(text: &str) -> PathBuf {
    PathBuf::from(text)
}

/// Returns whether a text starts with the two digits of an escaped byte.
fn is_byte(text: &str) -> bool {
    let digits = text.as_bytes().first_chunk::<2>();
    digits.is_some_and(|digits| {
        digits
            .iter()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_an_escaped_byte_is_escaped() {
        for (name, shown) in [
            ("a.yaml", "a.yaml"),
            ("a\\b\\xyz\\xF0.yaml", "a\\b\\xyz\\xF0.yaml"),
            ("x\\xff.yaml", "x\\x5cxff.yaml"),
            ("\\x5cxff", "\\x5cx5cxff"),
            ("\\\\x00/\\x1", "\\\\x5cx00/\\x1"),
        ] {
            assert_eq!(escaped_path(name), shown);
        }
    }

    #[cfg(unix)]
    #[test]
    fn different_names_have_different_texts() {
        use std::os::unix::ffi::OsStrExt as _;

        let parts: [&[u8]; 8] = [b"\\", b"x", b"\xff", b"f", b"5c", b"\\xff", b"\\x", b"\xc3"];
        let mut texts = std::collections::BTreeMap::new();
        for first in parts {
            for second in parts {
                for third in parts {
                    let name = [first, second, third].concat();
                    let text = escaped_name(OsStr::from_bytes(&name)).into_owned();
                    let known = texts.entry(text).or_insert_with(|| name.clone());
                    assert_eq!(*known, name);
                    let path = path_of_name(&escaped_name(OsStr::from_bytes(&name)));
                    assert_eq!(path.as_os_str().as_bytes(), name);
                }
            }
        }
    }
}
