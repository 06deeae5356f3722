//! Comparison of displayed paths.
//!
//! A path is displayed relative to the working directory, with the minimum number of `..` (`shown_path`). So `..`
//! is only at the start, and the rest never leads back towards the working directory: two paths can be
//! compared as text, whatever the name of the working directory. A folder has `/` at its end; the working
//! directory is empty.

/// Splits a path into the number of its leading `..` and the rest.
pub(in crate::source) fn split(path: &str) -> (usize, &str) {
    let mut rest = path;
    let mut up = 0;
    while let Some(after) = rest.strip_prefix("../") {
        rest = after;
        up += 1;
    }
    (up, rest)
}

/// Returns whether a displayed path is absolute. On Windows, it may start with `C:/` or
/// `//server/share/`.
pub(in crate::source) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

pub(in crate::source) fn has_drive(path: &str) -> bool {
    cfg!(windows)
        && matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}

/// Returns the number of leading `..` of a path.
#[must_use]
pub fn height(path: &str) -> usize {
    split(path).0
}

/// Returns the folder of a file, with `/` at its end; empty for the working directory.
#[must_use]
pub fn folder(path: &str) -> &str {
    let end = memchr::memrchr(b'/', path.as_bytes());
    end.map_or("", |at| path.get(..=at).unwrap_or_default())
}

/// Returns whether a folder is `outer` or a folder in it.
#[must_use]
pub fn is_within(folder: &str, outer: &str) -> bool {
    if is_absolute(folder) != is_absolute(outer) {
        return false;
    }
    let ((up, rest), (outer_up, outer_rest)) = (split(folder), split(outer));
    if up == outer_up {
        rest.starts_with(outer_rest)
    } else {
        up < outer_up && outer_rest.is_empty()
    }
}

/// Returns whether a folder, without `/` at its end, contains a file.
#[must_use]
pub fn contains(folder: &str, path: &str) -> bool {
    is_within(path, &with_slash(folder))
}

/// Adds `/` to the end of a folder if it is missing.
pub(in crate::source) fn with_slash(folder: &str) -> String {
    if folder.is_empty() || folder.ends_with('/') {
        folder.to_owned()
    } else {
        format!("{folder}/")
    }
}

/// Returns the deepest common ancestor of two folders; `None` if only one of them is absolute.
#[must_use]
pub fn common<'a>(left: &'a str, right: &'a str) -> Option<&'a str> {
    if is_absolute(left) != is_absolute(right) {
        return None;
    }
    let (higher, lower) = if height(left) < height(right) {
        (right, left)
    } else {
        (left, right)
    };
    if height(higher) > height(lower) {
        return higher.get(..height(higher) * "../".len());
    }
    let equal_bytes = left
        .bytes()
        .zip(right.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let shared = left.as_bytes().get(..equal_bytes).unwrap_or_default();
    let end = shared.iter().rposition(|&byte| byte == b'/');
    left.get(..end.map_or(0, |at| at + 1))
}

/// Returns the direct subfolder of `outer` that contains `folder` or is `folder`, both with `/` at their ends. Above
/// the working directory, returns the subfolder that contains the working directory.
#[must_use]
pub fn child<'a>(outer: &'a str, folder: &'a str) -> &'a str {
    let (up, outer_up) = (height(folder), height(outer));
    if up < outer_up {
        // A folder above the working directory consists only of `..`.
        return outer.get("../".len()..).unwrap_or_default();
    }
    let rest = folder.as_bytes().get(outer.len()..).unwrap_or_default();
    let end = memchr::memchr(b'/', rest).map_or(rest.len(), |at| at + 1);
    folder.get(..outer.len() + end).unwrap_or(folder)
}

/// Returns a score for the proximity of two files: the deeper their common folder, the higher.
#[must_use]
pub fn nearness(left: &str, right: &str) -> usize {
    /// More than the depth of any working directory.
    const LEVEL: usize = 1 << 20;
    if left == right {
        return usize::MAX;
    }
    if is_absolute(left) != is_absolute(right) {
        return 0;
    }
    let (left_up, right_up) = (height(left), height(right));
    let down = if left_up == right_up {
        let shared = left
            .bytes()
            .zip(right.bytes())
            .take_while(|(a, b)| a == b)
            .filter(|(byte, _)| *byte == b'/');
        shared.count() - left_up
    } else {
        0
    };
    LEVEL.saturating_sub(left_up.max(right_up)) + down
}

/// Returns the ancestor folders of a file, the deepest first, without `/` at their ends, up to the
/// one `top` folders above the working directory.
pub fn folders(path: &str, top: usize) -> impl Iterator<Item = String> {
    let (up, rest) = split(path);
    let inner = rest
        .rmatch_indices('/')
        .filter_map(move |(at, _)| path.get(..path.len() - rest.len() + at));
    let end = if is_absolute(path) { up } else { top + 1 };
    let outer = (up..end).map(|up| vec![".."; up].join("/"));
    inner.map(str::to_owned).chain(outer)
}

/// Removes `.` and `..` from a path in a repository.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns whether a path ends with the path `wanted`, at the border of a folder.
pub fn ends_with(path: &str, wanted: &str) -> bool {
    let path = path.trim_start_matches("./");
    match path.strip_suffix(wanted) {
        Some(before) => before.is_empty() || before.ends_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_compared_by_location() {
        assert!(is_within("", "../"));
        assert!(is_within("a/", ""));
        assert!(is_within("../b/c/", "../"));
        assert!(!is_within("../b/", ""));
        assert!(!is_within("", "../b/"));
        assert!(!is_within("/tmp/", ""));
        assert_eq!(common("../b/", "a/"), Some("../"));
        assert_eq!(common("../../", "../b/"), Some("../../"));
        assert_eq!(common("a/b/", "a/c/"), Some("a/"));
        assert_eq!(common("/a/", "a/"), None);
        assert_eq!(child("../../", "a/b/"), "../");
        assert_eq!(child("../", "a/b/"), "");
        assert_eq!(child("../", "../b/c/"), "../b/");
        assert_eq!(child("", "a/b/"), "a/");
    }

    #[test]
    fn nearness_does_not_depend_on_the_working_directory() {
        // Relative to `r`, to `r/stage` and to `r/stage/app`.
        let seen = [
            ["stage/app/w", "stage/app/x", "stage/x", "x", "prod/x"],
            ["app/w", "app/x", "x", "../x", "../prod/x"],
            ["w", "x", "../x", "../../x", "../../prod/x"],
        ];
        for [workload, others @ ..] in seen {
            let scores: Vec<usize> = others.iter().map(|file| nearness(file, workload)).collect();
            let drops: Vec<bool> = scores.windows(2).map(|pair| pair[0] > pair[1]).collect();
            assert_eq!(drops, [true, true, false], "{workload}: {scores:?}");
        }
    }

    #[test]
    fn the_ancestor_folders_of_a_file_are_listed() {
        let ancestors = |path, top| folders(path, top).collect::<Vec<_>>();
        assert_eq!(ancestors("a/b/c.yaml", 0), ["a/b", "a", ""]);
        assert_eq!(ancestors("a/c.yaml", 2), ["a", "", "..", "../.."]);
        assert_eq!(ancestors("../b/c.yaml", 1), ["../b", ".."]);
        assert_eq!(ancestors("/a/c.yaml", 1), ["/a", ""]);
    }
}
