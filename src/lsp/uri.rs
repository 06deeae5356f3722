//! Conversion between paths and `file:` URIs.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;

/// Returns the path of a `file:` URI; `None` for other URIs, and for files on other hosts.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    native_path(decoded(path))
}

/// Returns the `file:` URI of an absolute path.
pub(super) fn uri_of(path: &Path) -> Uri {
    let mut uri = String::from("file://");
    let bytes = slashed(path);
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                    uri.push(digit.to_ascii_uppercase());
                }
                let at = uri.len() - 2;
                uri.insert(at, '%');
            }
        }
    }
    Uri(uri)
}

/// Replaces the escapes `%XX`; an incomplete escape is kept.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    let digit = char::from(digit).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(unix)]
fn native_path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    let is_path = !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(unix)]
fn slashed(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes().to_vec()
}

/// Returns the path after the first slash: `/C:/folder` is `C:\folder`.
#[cfg(not(unix))]
fn native_path(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    let path = text.strip_prefix('/').filter(|path| path.contains(':'))?;
    Some(PathBuf::from(path.replace('/', "\\")))
}

#[cfg(not(unix))]
fn slashed(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_conversion() {
        for path in ["/a/b.yaml", "/a b/%41/ü#?.yaml", "/"] {
            let uri = uri_of(Path::new(path));
            assert!(uri.0.is_ascii());
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(
            path_of(&"file:///a%20b/c%3a%zz".into()).as_deref(),
            Some(Path::new("/a b/c:%zz"))
        );
    }

    #[test]
    fn only_local_files_have_a_path() {
        for uri in [
            "untitled:Untitled-1",
            "file://host/a",
            "git:/a",
            "file:///a%00",
        ] {
            assert_eq!(path_of(&uri.into()), None, "{uri}");
        }
    }
}
