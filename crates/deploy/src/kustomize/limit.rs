//! Limits of renderings.

use std::fmt;

/// Maximum depth of nested kustomizations.
pub const DEPTH: usize = 32;
/// Maximum depth of deployed objects that deploy other objects.
pub(crate) const ROUNDS: usize = 5;
/// Maximum number of items of a list into which a patch is merged.
pub(crate) const ITEMS: usize = 2_000;
/// Maximum number of steps of all renderings of a run. Changing an object is one step.
pub(crate) const STEPS: usize = 20_000_000;

/// Limit because of which objects are left out of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The memory of all renderings.
    Memory,
    /// The steps of all renderings.
    Steps,
    /// The items of a list into which a patch is merged.
    Items,
    /// The values of an object and their depth.
    Values,
    /// The depth of nested kustomizations.
    Depth,
    /// The depth of deployed objects that deploy other objects.
    Rounds,
}

impl Limit {
    /// Returns the help text for the limit; `verb` is `check` or `rewrite`.
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
            Self::Rounds => format!("{verb} the output of Flux or Argo CD for these objects"),
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
            Self::Values => f.write_str("an object has too many values, or is nested too deeply"),
            Self::Depth => write!(f, "more than {DEPTH} kustomizations are nested"),
            Self::Rounds => write!(f, "more than {ROUNDS} objects deploy each other"),
        }
    }
}
