//! Options for the walk of directories.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Paths that the user excludes, as globs with the syntax of `.gitignore`.
#[derive(Clone, Debug)]
pub struct Exclude {
    globs: Gitignore,
}

impl Default for Exclude {
    fn default() -> Self {
        Self {
            globs: Gitignore::empty(),
        }
    }
}

impl Exclude {
    /// Parses globs, which are matched against displayed paths.
    ///
    /// # Errors
    /// The reason why a glob is invalid, with the glob.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        // In git, a pattern with an unclosed bracket never matches: here it is an error.
        builder.allow_unclosed_class(false);
        for glob in globs {
            builder
                .add_line(None, glob)
                .map_err(|error| error.to_string())?;
        }
        let globs = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { globs })
    }

    pub(in crate::source) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Returns whether the path or one of its parent directories is excluded.
    #[must_use]
    pub fn excludes(&self, shown: &str, is_directory: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let path = Path::new(shown.trim_start_matches('/'));
        path.ancestors()
            .enumerate()
            .filter(|(_, part)| !part.as_os_str().is_empty())
            .any(|(up, part)| self.globs.matched(part, is_directory || up > 0).is_ignore())
    }
}

/// Options for the walk of directories.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// Whether to read files that `.gitignore` and the like hide. Files that git tracks are never hidden.
    pub no_ignore: bool,
    /// The excluded paths.
    pub exclude: Exclude,
    /// Whether to exclude paths that the user names, too.
    pub force_exclude: bool,
    /// Whether configuration files of the tree are ignored, so that they do not declare trees of their own.
    pub isolated: bool,
}

#[cfg(test)]
mod tests {
    use super::Exclude;

    #[test]
    fn globs_match_as_in_gitignore() {
        let exclude = Exclude::new(["vendor/", "*.gen.yaml", "/a/b.yaml"]).unwrap();
        assert!(exclude.excludes("x/vendor/y.yaml", false));
        assert!(exclude.excludes("x/y.gen.yaml", false));
        assert!(exclude.excludes("a/b.yaml", false));
        assert!(exclude.excludes("/abs/vendor/y.yaml", false));
        assert!(!exclude.excludes("c/a/b.yaml", false));
        assert!(!exclude.excludes("vendor", false));
        assert!(exclude.excludes("../vendor/x.yaml", false));
        assert!(Exclude::new(["a[z-a]"]).is_err());
        assert!(Exclude::new(["["]).is_err());
    }
}
