//! Display text of paths.
//!
//! Arguments in command lines that messages recommend.
//!
//! Display text of file names.
//!
//! Files are looked up by the text of their path, so different names must have different texts: a byte that is not
//! UTF-8 is written as `\xNN`, and a backslash that begins such a sequence in the name itself as `\x5c`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::filesystem::without_dots;

/// Returns the unique display text of a path: relative to the working directory, with `/`, or absolute if they
/// have no common folder.
#[must_use]
pub fn shown_path(path: &Path, working_directory: &Path) -> String {
    if let Some(shown) = shown_below(path, working_directory) {
        return shown;
    }
    let full = without_dots(&working_directory.join(path));
    let base = without_dots(working_directory);
    if let Some(shown) = shown_below(&full, &base) {
        return shown;
    }
    // `..` is useful only with a common folder.
    if full == base || top(&full).is_some() && top(&full) == top(&base) {
        return relative_path(&full, &base);
    }
    if cfg!(windows) {
        return full.to_string_lossy().replace('\\', "/");
    }
    escaped_name(full.as_os_str()).into_owned()
}

/// Returns the display text of a path below the working directory without `.` and `..`, which most paths are.
fn shown_below(path: &Path, working_directory: &Path) -> Option<String> {
    let below = path.strip_prefix(working_directory).ok()?;
    let mut shown = String::with_capacity(below.as_os_str().len());
    for component in below.components() {
        let Component::Normal(name) = component else {
            return None;
        };
        if !shown.is_empty() {
            shown.push('/');
        }
        shown.push_str(&escaped_name(name));
    }
    (!shown.is_empty()).then_some(shown)
}

/// Returns the first folder of an absolute path, and on Windows its disk.
fn top(path: &Path) -> Option<(Option<Component<'_>>, Component<'_>)> {
    let mut parts = path.components();
    let disk = parts.clone().next();
    let disk = disk.filter(|part| matches!(part, Component::Prefix(_)));
    let folder = parts.find(|part| matches!(part, Component::Normal(_)))?;
    Some((disk, folder))
}

/// Returns a path relative to a folder, with `/`, and with `..` for paths outside of the folder. Both paths are
/// absolute.
#[must_use]
pub fn relative_path(path: &Path, folder: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        path.components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(escaped_name(name).into_owned()),
                _ => None,
            })
            .collect()
    };
    let (path, folder) = (parts(path), parts(folder));
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder.iter().skip(common).map(|_| "..");
    let down = path.iter().skip(common).map(String::as_str);
    let all: Vec<&str> = up.chain(down).collect();
    if all.is_empty() {
        ".".to_owned()
    } else {
        all.join("/")
    }
}

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
    fn paths_are_shown_relative_to_the_working_directory() {
        let base = Path::new("/w/repo");
        for (path, shown) in [
            ("./a/./b.yaml", "a/b.yaml"),
            ("/w/repo/a.yaml", "a.yaml"),
            ("/w/other/a.yaml", "../other/a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("../repo/a.yaml", "a.yaml"),
            ("b/../a.yaml", "a.yaml"),
            ("/v/a.yaml", "/v/a.yaml"),
            (".", "."),
            ("/w/repo", "."),
            ("/w/repo/a//b/../c.yaml", "a/c.yaml"),
            ("/w/repo/../repo/a.yaml", "a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }

    #[cfg(windows)]
    #[test]
    fn paths_on_other_disks_are_shown_as_absolute_paths() {
        let base = Path::new(r"C:\w\repo");
        for (path, shown) in [
            (r"a\b.yaml", "a/b.yaml"),
            (r"C:\w\other\a.yaml", "../other/a.yaml"),
            (r"D:\w\a.yaml", "D:/w/a.yaml"),
            (r"\\server\share\a.yaml", "//server/share/a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }

    #[test]
    fn text_of_manifests_cannot_run_a_command() {
        assert_eq!(shell_word("$(rm -rf .)"), "'$(rm -rf .)'");
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
        assert_eq!(shell_word("--post-renderer=x"), "'./--post-renderer=x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\nb"), "'a\nb'");
    }

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
