//! The facts behind a prediction, as lines.

use std::sync::Arc;

/// One fact, or one line of the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name of the fact: `dataplane`, `mTLS`, `outcome` …
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Its certainty; empty for a line that is not a fact.
    pub certainty: &'static str,
    /// Its provenance, one item per reason.
    pub because: Vec<Noted>,
    /// The names of the environments to which it applies; empty if it applies to all.
    pub environments: Vec<Arc<str>>,
}

/// A reason, with the environments to which it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The reason, with the option that settles it.
    pub text: String,
    /// The places that show it, such as `apps/web.yaml:31`, in the order of the environments.
    pub places: Vec<String>,
    /// The names of the environments; empty if it applies to all of the line.
    pub environments: Vec<Arc<str>>,
}

impl From<String> for Noted {
    fn from(text: String) -> Self {
        Self {
            text,
            places: Vec::new(),
            environments: Vec::new(),
        }
    }
}

/// A handler with all its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `shop/Deployment/web: readinessProbe of container web`.
    pub title: String,
    /// `apps/web.yaml:31`.
    pub place: String,
    /// The names of its environments; empty if there is only one.
    pub environments: Vec<Arc<str>>,
    /// The facts in the order in which they are consulted, then the verdict.
    pub lines: Vec<Line>,
}
