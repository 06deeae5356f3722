//! Files that Git LFS stores outside of the objects of git.
//!
//! Source: git-lfs 3.6, `docs/spec.md` ("The Pointer").

use std::path::{Path, PathBuf};

/// Length in bytes below which a file may be a pointer.
pub(super) const LONGEST: u64 = 1024;

const FIRST_LINE: &str = "version https://git-lfs.github.com/spec/v1\n";

/// Returns the hash of the file that Git LFS stores, if the content of a file is a pointer to one.
#[must_use]
pub fn lfs_object(bytes: &[u8]) -> Option<String> {
    let pointer = ((bytes.len() as u64) < LONGEST).then(|| Pointer::parse(bytes));
    pointer.flatten().map(|pointer| pointer.object)
}

/// Content of a file that Git LFS stores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    object: String,
    length: u64,
}

impl Pointer {
    /// Parses the content of a file; `None` if it is not a pointer.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let fields = str::from_utf8(bytes).ok()?.strip_prefix(FIRST_LINE)?;
        let value = |key: &str| fields.lines().find_map(|line| line.strip_prefix(key));
        let object = value("oid sha256:")?;
        let is_name = object.len() == 64 && object.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            object: is_name.then(|| object.to_owned())?,
            length: value("size ")?.parse().ok()?,
        })
    }

    /// Returns the file that stores the content, below the folder that all working trees of a clone share.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn stored_in(&self, common: &Path) -> Result<(PathBuf, u64), String> {
        let (first, rest) = self.object.split_at_checked(2).unwrap_or_default();
        let second = rest.get(..2).unwrap_or_default();
        let mut path = common.join("lfs/objects");
        path.extend([first, second, &self.object]);
        let found = std::fs::symlink_metadata(&path);
        if found.is_ok_and(|found| found.is_file() && found.len() == self.length) {
            return Ok((path, self.length));
        }
        let object = &self.object;
        Err(format!(
            "Git LFS object {object} is not stored locally; run `git lfs fetch` for the revision"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Pointer;

    #[test]
    fn pointers_are_recognized() {
        let object = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 12345\n"
        );
        let pointer = Pointer::parse(text.as_bytes()).unwrap();
        assert_eq!((pointer.object.as_str(), pointer.length), (object, 12345));
        for other in [
            "",
            "kind: Pod\n",
            "version https://git-lfs.github.com/spec/v1\noid sha256:../x\nsize 1\n",
        ] {
            assert_eq!(Pointer::parse(other.as_bytes()), None);
        }
    }
}
