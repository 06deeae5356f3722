//! Finds facts on which equally near installations differ.

use std::fmt::Display;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::install::Install;

use crate::context::istio::install::view::{InstallView, NAMED};

/// A fact on which the candidates of a workload differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The name of the fact as in the options: `rewrite`, `status-port`, `root-namespace` …
    pub key: &'static str,
    /// The value of each of the first candidates and its place; the place of a default is that of the
    /// installation.
    pub sides: Vec<(String, Label)>,
}

impl InstallView<'_> {
    /// Returns the facts on which the candidates differ; empty if only one decides.
    #[must_use]
    pub fn conflicts(&self) -> Vec<Conflict> {
        if self.candidates.len() < 2 {
            return Vec::new();
        }
        let on = "true".to_owned();
        let port = "15020".to_owned();
        let all = [
            self.differ("revision", "default", |plane| plane.revision.as_ref()),
            self.differ("mesh-version", "unknown", |plane| plane.version.as_ref()),
            self.differ("rewrite", &on, |plane| plane.rewrite.as_ref()),
            self.differ("root-namespace", "istio-system", |plane| {
                plane.root_namespace.as_ref()
            }),
            self.differ("status-port", &port, |plane| {
                plane.mesh_status_port.as_ref()
            }),
            self.differ("status-port", &port, |plane| {
                plane.proxy_status_port.as_ref()
            }),
            self.differ("cni", "false", |plane| plane.cni.as_ref()),
        ];
        all.into_iter().flatten().collect()
    }

    fn differ<'a, T: Display + PartialEq + 'a>(
        &'a self,
        key: &'static str,
        default: &str,
        get: impl Fn(&'a Install) -> Option<&'a Fact<T>>,
    ) -> Option<Conflict> {
        let value = |plane: &'a Install| get(plane).map(|fact| &fact.value);
        let mut values = self.candidates.iter().map(|plane| value(plane));
        let first = values.next()?;
        if values.all(|other| other == first) {
            return None;
        }
        let side = |plane: &&'a Install| match get(plane) {
            Some(fact) => {
                let place = fact.because.first().and_then(|reason| reason.place.clone());
                (
                    fact.value.to_string(),
                    place.unwrap_or_else(|| plane.place.clone()),
                )
            }
            None => (default.to_owned(), plane.place.clone()),
        };
        let (taken, others) = self.candidates.split_first()?;
        let first = side(taken);
        // A default that is written equals one that is not.
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
