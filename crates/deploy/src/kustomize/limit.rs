//! The limit because of which objects are left out, and what counts towards the limits of renderings.

use std::fmt;

use meshprobe_tree::source::Document;
use meshprobe_tree::source::limits::{
    ADDED_VALUES, LIST_ITEMS, NESTED_DEPLOYMENTS, NESTED_KUSTOMIZATIONS, RENDERED_VALUES,
    ValueCount,
};

/// What a pod counts with its predictions and findings, and what any other object counts.
pub(crate) const POD: usize = 100;
pub(crate) const OTHER: usize = 16;
/// Bytes of a text that count as much as a value.
pub(crate) const TEXT: usize = 64;

/// Returns the count of the values of all renderings of a run.
pub(crate) const fn count() -> ValueCount {
    ValueCount::new(RENDERED_VALUES)
}

/// Returns what a rendered object counts.
pub(crate) fn values_of(document: &Document, is_pod: bool) -> usize {
    let results = if is_pod { POD } else { OTHER };
    // An unchanged document shares the tree of the file.
    let tree = document.tree().filter(|tree| tree.is_composed());
    results + tree.map_or(0, |tree| tree.node_count() + tree.segment().len() / TEXT)
}

/// Limit because of which objects are left out of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The values of all renderings.
    All,
    /// The values that a kustomization adds.
    Added,
    /// The steps of a rendering.
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
            Self::All => format!("{verb} fewer overlays at once"),
            Self::Rounds => format!("{verb} the output of Flux or Argo CD for these objects"),
            _ => format!("{verb} the output of `kustomize build`"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(
                f,
                "all renderings together have more than {RENDERED_VALUES} values"
            ),
            Self::Added => write!(
                f,
                "a kustomization adds more than {ADDED_VALUES} values to its objects"
            ),
            Self::Steps => f.write_str("the rendering takes too many steps"),
            Self::Items => write!(
                f,
                "a patch changes an object with a list of more than {LIST_ITEMS} items"
            ),
            Self::Values => f.write_str("an object has too many values, or is nested too deeply"),
            Self::Depth => write!(
                f,
                "more than {NESTED_KUSTOMIZATIONS} kustomizations are nested"
            ),
            Self::Rounds => {
                write!(
                    f,
                    "more than {NESTED_DEPLOYMENTS} objects deploy each other"
                )
            }
        }
    }
}
