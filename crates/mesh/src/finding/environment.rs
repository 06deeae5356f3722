//! The environments of a finding: the overlays and clusters that deploy the same object.

use std::sync::Arc;

use hashbrown::HashMap;

use super::certainty::Certainty;
use super::name_list::name_list;

/// The phrase of outcomes that rest on an assumption, or on nothing.
const NOT_KNOWN: &str = "not known";

/// An overlay or cluster that deploys the object of a finding, which others deploy as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The short name, such as `prod-eu`. Environments that deploy the same object have different names.
    pub name: Arc<str>,
    /// The kustomization, or the file of the Flux or Argo CD object.
    pub path: Arc<str>,
    /// The certainty of the outcome in this environment.
    pub certainty: Certainty,
    /// The outcome of the probe in this environment if the finding does not apply to it; `None` if it does.
    pub differs: Option<DifferentOutcome>,
}

impl Environment {
    /// Returns the key that sorts environments: those that the finding applies to, those with another known outcome, and
    /// those whose outcome is not known.
    pub(super) fn order(&self) -> impl Ord + '_ {
        let is_uncertain = self.differs.is_some() && !self.is_known();
        (is_uncertain, self.differs, &self.name, &self.path)
    }

    const fn is_known(&self) -> bool {
        matches!(self.certainty, Certainty::Known | Certainty::Default)
    }

    /// Returns the phrase of an outcome that differs; `None` if the finding applies to the environment. An assumed outcome
    /// is not stated as if it were known.
    fn phrase(&self) -> Option<&'static str> {
        let phrase = self.differs?.phrase;
        Some(if self.is_known() { phrase } else { NOT_KNOWN })
    }
}

/// An outcome that differs from the one that a finding reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DifferentOutcome {
    /// The word used in every output format, such as `ok`.
    pub id: &'static str,
    /// The verb phrase for people, such as `works`.
    pub phrase: &'static str,
}

/// Replaces each name that several environments have with the path of the environment.
pub(super) fn make_names_unique(environments: &mut [Environment]) {
    let mut counts: HashMap<Arc<str>, usize> = HashMap::new();
    for environment in &*environments {
        *counts.entry(Arc::clone(&environment.name)).or_default() += 1;
    }
    for environment in environments {
        if counts
            .get(&environment.name)
            .is_some_and(|&count| count > 1)
        {
            environment.name = Arc::clone(&environment.path);
        }
    }
}

/// Returns the names of sorted environments as one line, such as `prod-us; works in prod-eu; not known in staging`; `None`
/// without environments. A long list of names is cut.
pub(super) fn environments_line(environments: &[Environment]) -> Option<String> {
    let affected = environments.iter().filter(|found| found.differs.is_none());
    let mut parts = vec![names(affected)];
    let mut phrases: Vec<&str> = Vec::new();
    for phrase in environments.iter().filter_map(Environment::phrase) {
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    parts.extend(phrases.into_iter().map(|phrase| {
        let found = environments.iter();
        let found = found.filter(|found| found.phrase() == Some(phrase));
        format!("{phrase} in {}", names(found))
    }));
    parts.retain(|part| !part.is_empty());
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn names<'e>(environments: impl Iterator<Item = &'e Environment>) -> String {
    name_list(environments.map(|found| &*found.name))
}
