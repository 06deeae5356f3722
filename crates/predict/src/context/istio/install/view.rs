//! The control planes that may serve one workload.

use std::fmt::Display;
use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_mesh::mesh::{Fact, Reason};

/// The maximum number of candidates in a message, since every pod repeats them.
pub(in crate::context) const NAMED: usize = 8;

/// The control planes that may serve one workload.
#[derive(Clone, Debug, Default)]
pub struct InstallView<'a> {
    /// The control planes that decide for the workload. There are several if they are equally near
    /// and would all inject it; the first is assumed then.
    pub candidates: Vec<&'a Install>,
    /// All control planes, and the positions of those in scope.
    pub(in crate::context) scope: (&'a [Install], Arc<[usize]>),
    /// Facts about the cluster, the nearest first. They apply if no candidate states the fact.
    pub cluster: Vec<&'a Install>,
}

impl<'a> InstallView<'a> {
    /// Returns a fact of the installation; `None` if nothing states it. If candidates disagree, the
    /// first value is assumed, and `settle` names the option that settles it.
    pub fn fact<T: Clone + PartialEq + 'a>(
        &self,
        settle: &'static str,
        get: impl Fn(&'a Install) -> Option<&'a Fact<T>>,
    ) -> Option<Fact<T>> {
        let facts: Vec<Option<&Fact<T>>> = self.candidates.iter().map(|plane| get(plane)).collect();
        let Some(first) = facts.iter().flatten().next() else {
            return self.cluster.iter().find_map(|plane| get(plane)).cloned();
        };
        let agree = facts
            .iter()
            .all(|fact| fact.is_some_and(|fact| fact.value == first.value));
        let mut fact = (*first).clone();
        if agree {
            return Some(fact);
        }
        let all = self.candidates.iter().zip(&facts);
        let differing =
            all.filter(|(_, other)| other.is_none_or(|other| other.value != first.value));
        for (plane, other) in differing.take(NAMED) {
            let place = other.and_then(|other| other.because.first()?.place.clone());
            let place = place.unwrap_or_else(|| plane.place.clone());
            let message = format!("another value: {}", place.message);
            fact.because
                .push(Reason::written(Label { message, ..place }));
        }
        let message = "equally near installations differ; this one is assumed";
        Some(fact.depending_on(&Fact::assumed((), message, Some(overriding_option(settle)))))
    }

    /// Returns why the defaults of the chart may not apply: values that could not be read, or that Istio rejects.
    #[must_use]
    pub fn unread(&self) -> Option<Fact<()>> {
        let because: Vec<Reason> = self
            .candidates
            .iter()
            .flat_map(|plane| {
                let rejected = plane.rejected_config.iter().cloned();
                let unread = plane.unread.iter().cloned();
                unread.chain(rejected.map(Reason::written))
            })
            .collect();
        (!because.is_empty()).then_some(Fact {
            value: (),
            certainty: Certainty::Assumed,
            because,
        })
    }

    /// Returns a view of the control planes that decide, without facts about the cluster.
    pub(in crate::context) fn of_candidates(
        candidates: Vec<&'a Install>,
        all: &'a [Install],
        scope: Arc<[usize]>,
    ) -> Self {
        Self {
            candidates,
            scope: (all, scope),
            cluster: Vec::new(),
        }
    }

    fn scope(&self) -> impl Iterator<Item = &'a Install> {
        let (all, scope) = &self.scope;
        scope.iter().filter_map(|&at| all.get(at))
    }

    /// Returns all revisions and tags that the control planes in scope serve, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&'a str> {
        let planes = self.scope();
        let mut names: Vec<&str> = planes.flat_map(Install::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Returns the option that settles a fact even if the tree states it: `--assume` only fills gaps.
pub(in crate::context) fn overriding_option(settle: &'static str) -> &'static str {
    match settle {
        "--assume rewrite=true|false" => "--override rewrite=true|false",
        "--assume root-namespace=NAME" => "--override root-namespace=NAME",
        "--assume status-port=PORT" => "--override status-port=PORT",
        "--assume cni=true|false" => "--override cni=true|false",
        "--assume native-sidecars=true|false" => "--override native-sidecars=true|false",
        other => other,
    }
}

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
