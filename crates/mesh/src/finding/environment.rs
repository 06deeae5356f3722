//! The environments of a finding: the overlays and clusters that deploy the same object.
//!
//! Identities of environments: a kustomization, or the file with a Flux or Argo CD object. If a file deploys several
//! environments, the name of the object follows, such as `clusters/eu/apps.yaml#shop-dev`.
//!
//! Lists of names in texts.
//!
//! How certain a fact, an outcome or a finding is.

use std::fmt::Display;
use std::sync::Arc;

use hashbrown::HashMap;

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

/// Returns the identity of the environment that one of several objects of a file deploys.
#[must_use]
pub fn environment_id(file: &str, object: &str) -> String {
    format!("{file}#{}", object.replace(['/', '#'], "-"))
}

/// Returns the file of an environment.
#[must_use]
pub fn environment_file(id: &str) -> &str {
    split(id).0
}

/// Returns the name of the object that deploys an environment, if its file deploys several.
#[must_use]
pub fn environment_object(id: &str) -> Option<&str> {
    split(id).1
}

fn split(id: &str) -> (&str, Option<&str>) {
    let parts = id.rsplit_once('#');
    let is_object = |(_, object): &(&str, &str)| {
        !object.contains('/')
            && ![".yaml", ".yml", ".json"]
                .iter()
                .any(|end| object.ends_with(end))
    };
    parts
        .filter(is_object)
        .map_or((id, None), |(file, object)| (file, Some(object)))
}

/// The maximum number of environments that a text names.
const ALL_NAMED: usize = 8;

/// The number of environments that a text names if there are more than [`ALL_NAMED`].
const FIRST_NAMED: usize = 6;

/// Returns the names of environments as one text, such as `prod-eu, prod-us`. A long list is cut.
#[must_use]
pub fn name_list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match shortened(&names) {
        (named, 0) => named.join(", "),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns the first names, and the number of the others: `a, b and 3 more`.
#[must_use]
pub fn names_and_more<N: Display>(names: impl ExactSizeIterator<Item = N>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let named: Vec<String> = names.take(most).map(|name| name.to_string()).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns names as a list in a sentence: `a, b and c`.
#[must_use]
pub fn sentence_list<N: AsRef<str>>(names: &[N]) -> String {
    let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// Returns the items of a list that a text names, and the number of the others.
#[must_use]
pub fn shortened<T>(items: &[T]) -> (&[T], usize) {
    match items.get(..FIRST_NAMED) {
        Some(first) if items.len() > ALL_NAMED => (first, items.len() - first.len()),
        _ => (items, 0),
    }
}

/// The certainty of a fact or verdict. A verdict is as certain as the least certain fact that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Nothing determines the value.
    Unknown,
    /// The value comes from an option or a convention, not from the tree.
    Assumed,
    /// The documented default of the release.
    Default,
    /// Written in the tree.
    Known,
}

impl Certainty {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Assumed => "assumed",
            Self::Default => "default",
            Self::Known => "known",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_object_follows_the_file() {
        let id = environment_id("clusters/eu/apps.yaml", "shop/dev");
        assert_eq!(environment_file(&id), "clusters/eu/apps.yaml");
        assert_eq!(environment_object(&id), Some("shop-dev"));
        for file in ["a#b/apps.yaml", "a#b.yaml", "apps.yaml"] {
            assert_eq!(
                (environment_file(file), environment_object(file)),
                (file, None)
            );
        }
    }
}
