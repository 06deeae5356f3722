//! The folder above a folder.

use meshprobe_tree::source::paths::{height, is_within};

/// The folder that contains a folder. Its path need not be part of the path of that folder: the working directory is
/// empty, and its parent is `../`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ParentFolder<'f> {
    /// The number of leading `..`.
    pub(super) up: usize,
    /// The path below these, with `/` at its end.
    pub(super) rest: &'f str,
}

impl<'f> ParentFolder<'f> {
    /// Returns the parent of a folder with `/` at its end; `None` for the root of the file system.
    pub(super) fn of(folder: &'f str) -> Option<Self> {
        let up = height(folder);
        let rest = folder.get(up * "../".len()..)?;
        if rest.is_empty() {
            return Some(Self { up: up + 1, rest });
        }
        let inner = rest.strip_suffix('/').filter(|inner| !inner.is_empty())?;
        let rest = inner.get(..inner.rfind('/').map_or(0, |at| at + 1))?;
        Some(Self { up, rest })
    }

    /// Returns whether the parent is `folder` or contains it.
    pub(super) fn contains(self, folder: &str) -> bool {
        is_within(folder, &format!("{}{}", "../".repeat(self.up), self.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::ParentFolder;

    #[test]
    fn siblings_have_one_parent() {
        let of = |folder| ParentFolder::of(folder);
        assert_eq!(of(""), of("../other/"));
        assert_eq!(of("../"), of("../../other/"));
        assert_eq!(of("a/b/"), of("a/c/"));
        assert_eq!(of("/a/"), of("/b/"));
        assert_ne!(of("a/"), of("../a/"));
        assert_eq!(of("/"), None);
        assert!(of("").unwrap().contains("") && of("").unwrap().contains("../other/"));
        assert!(!of("a/b/").unwrap().contains("b/"));
    }
}
