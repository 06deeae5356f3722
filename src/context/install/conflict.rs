//! Where installations that are equally near say different things.

use std::fmt::Display;

use crate::finding::Label;
use crate::mesh::Fact;
use crate::mesh::istio::install::Install;

use super::InstallView;

/// How many candidates are named: each pod names them again.
pub(super) const NAMED: usize = 8;

/// One thing on which the candidates of a workload differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What it is, in the words of the options: `rewrite`, `status-port`, `root-namespace` …
    pub key: &'static str,
    /// What each of the first candidates says, and where; a default points at the installation itself.
    pub sides: Vec<(String, Label)>,
}

impl InstallView<'_> {
    /// Returns what the candidates differ on; empty where one alone decides.
    #[must_use]
    pub fn conflicts(&self) -> Vec<Conflict> {
        if self.candidates.len() < 2 {
            return Vec::new();
        }
        let on = "true".to_owned();
        let port = "15020".to_owned();
        let all = [
            self.differ("revision", "default", |one| one.revision.as_ref()),
            self.differ("mesh-version", "unknown", |one| one.version.as_ref()),
            self.differ("rewrite", &on, |one| one.rewrite.as_ref()),
            self.differ("root-namespace", "istio-system", |one| {
                one.root_namespace.as_ref()
            }),
            self.differ("status-port", &port, |one| one.mesh_status_port.as_ref()),
            self.differ("status-port", &port, |one| one.proxy_status_port.as_ref()),
            self.differ("cni", "false", |one| one.cni.as_ref()),
        ];
        all.into_iter().flatten().collect()
    }

    fn differ<'a, T: Display + PartialEq + 'a>(
        &'a self,
        key: &'static str,
        default: &str,
        get: impl Fn(&'a Install) -> Option<&'a Fact<T>>,
    ) -> Option<Conflict> {
        let value = |one: &'a Install| get(one).map(|fact| &fact.value);
        let mut values = self.candidates.iter().map(|one| value(one));
        let first = values.next()?;
        if values.all(|other| other == first) {
            return None;
        }
        let side = |one: &&'a Install| match get(one) {
            Some(fact) => {
                let place = fact.because.first().and_then(|reason| reason.place.clone());
                (
                    fact.value.to_string(),
                    place.unwrap_or_else(|| one.place.clone()),
                )
            }
            None => (default.to_owned(), one.place.clone()),
        };
        let (taken, others) = self.candidates.split_first()?;
        let first = side(taken);
        // A default that is written says the same as one that is not.
        let (at, differing) = others
            .iter()
            .enumerate()
            .filter(|(_, other)| value(other) != value(taken))
            .map(|(at, other)| (at, side(other)))
            .find(|(_, (text, _))| *text != first.0)?;
        let named = others.iter().take(NAMED).map(side);
        let last = (at >= NAMED).then_some(differing);
        let sides = std::iter::once(first).chain(named).chain(last).collect();
        Some(Conflict { key, sides })
    }
}
