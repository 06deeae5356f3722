//! Why renderings are left out.

use std::fmt;

/// How deep kustomizations may be nested.
pub const DEPTH: usize = 32;
/// How often deployed objects that deploy something themselves are followed.
pub(super) const ROUNDS: usize = 5;
/// How many items a list may have that a patch is merged with.
pub(super) const ITEMS: usize = 2_000;
/// How many steps all renderings of a run may take: to change an object is one.
pub(super) const STEPS: usize = 20_000_000;

/// A limit that renderings exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The memory that all renderings may hold.
    Memory,
    /// The steps that all renderings may take.
    Steps,
    /// The items of a list that a patch is merged with.
    Items,
    /// The values of an object, and how deep they nest.
    Values,
    /// How deep kustomizations may be nested.
    Depth,
    /// How often deployed objects that deploy something themselves are followed.
    Rounds,
}

impl Limit {
    /// Returns what to do about it, for `check` or `rewrite` of fewer overlays.
    #[must_use]
    pub fn help(self, verb: &str) -> String {
        match self {
            Self::Memory => {
                format!(
                    "raise the limit with `--max-rendered 1GiB`, or {verb} fewer overlays at once"
                )
            }
            Self::Steps => {
                format!("{verb} fewer overlays at once, or the output of `kustomize build`")
            }
            Self::Items | Self::Values | Self::Depth => {
                format!("{verb} the output of `kustomize build`")
            }
            Self::Rounds => format!("{verb} what the objects deploy, rendered by Flux or Argo CD"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("all renderings together would exceed the memory limit"),
            Self::Steps => f.write_str("all renderings together would take too many steps"),
            Self::Items => write!(
                f,
                "a patch changes an object with a list of more than {ITEMS} items"
            ),
            Self::Values => f.write_str("an object has too many values, or nests too deep"),
            Self::Depth => write!(f, "more than {DEPTH} kustomizations are nested"),
            Self::Rounds => write!(f, "more than {ROUNDS} objects deploy each other"),
        }
    }
}
