//! Who injects the pods of a workload: webhooks of the tree as they stand, else those that Istio's
//! charts make for the revisions and tags of a control plane.

use crate::finding::Label;
use crate::kube::nearness;
use crate::mesh::istio::injection::{ControlPlane, InjectionInput, webhook};
use crate::mesh::istio::install::{Carrier, Install, Part, Webhook};
use crate::mesh::{Fact, Reason};

use super::super::Context;
use super::conflict::NAMED;
use super::labels::Labels;
use super::plane_index::Possible;
use super::positions;

/// The option that settles who serves a revision.
const SETTLE: &str = "--assume revision=NAME";

/// Who injects.
#[derive(Clone, Debug)]
pub(in super::super) enum Server<'a> {
    /// Control planes of the tree, all equally near.
    Planes {
        /// One or more.
        planes: Vec<&'a Install>,
        /// The webhook of the tree that selects the pod.
        hook: Option<Label>,
        /// What had to be taken for granted.
        assumption: Option<Fact<()>>,
    },
    /// A control plane that is not in the tree.
    Someone {
        /// What had to be taken for granted.
        assumption: Option<Fact<()>>,
    },
    /// The labels ask for a name that no control plane answers to.
    Nobody {
        /// The names that are served, and where.
        because: Vec<Reason>,
    },
    /// The labels ask for nothing.
    NotAsked,
}

impl Context<'_> {
    /// Decides who injects.
    pub(in super::super) fn server<'a>(
        &'a self,
        labels: &Labels<'_>,
        scope: &[&'a Install],
    ) -> Server<'a> {
        let input = &labels.input;
        if !labels.given.overrides.revisions.is_empty() {
            return given(&labels.given.overrides.revisions, input, "--override");
        }
        if scope.is_empty() {
            return without_planes(labels);
        }
        let possible = self.plane_index.possible(labels);
        let hits = self.hits(
            &positions::<Vec<usize>>(&self.control_planes, scope),
            &possible,
            labels,
        );
        if !hits.is_empty() {
            let hook = hits.iter().find_map(|(_, hook)| *hook);
            let planes = hits.iter().map(|(plane, _)| *plane).collect();
            return Server::Planes {
                planes,
                hook: hook.map(|hook| hook.place.clone()),
                assumption: hook.and_then(unevaluated),
            };
        }
        if webhook(&anyone(input), input).is_none() {
            return Server::NotAsked;
        }
        assumed_name(labels)
            .or_else(|| self.out_of_scope(labels, &possible))
            .or_else(|| open(scope))
            .or_else(|| self.istioctl(scope, input))
            .unwrap_or_else(|| Server::Nobody {
                because: answers(scope, input),
            })
    }

    /// `istioctl install` gives the first installation of a cluster the default role, whatever its
    /// revision is (`istioctl/pkg/install`, since 1.10): nothing in the file says so.
    fn istioctl<'a>(
        &self,
        planes: &[&'a Install],
        input: &InjectionInput<'_>,
    ) -> Option<Server<'a>> {
        let asks_default = input.namespace_injection.is_some()
            || input.namespace_revision.is_none() && input.revision.is_none();
        let planes = planes.iter().copied();
        let planes = planes.filter(|one| one.carrier == Carrier::IstioOperator);
        let planes: Vec<&Install> = self.chosen(planes.collect());
        let first = planes.first().filter(|_| asks_default)?;
        let message = "istioctl gave this installation the default role";
        let place = Label {
            message: message.to_owned(),
            ..first.place.clone()
        };
        let assumption = Fact::known((), place).resting_on(&Fact::assumed(
            (),
            message,
            Some("--assume revision=default"),
        ));
        Some(Server::Planes {
            planes,
            hook: None,
            assumption: Some(assumption),
        })
    }

    /// A control plane elsewhere in the tree serves the name: better than to say that nobody does.
    fn out_of_scope<'a>(&'a self, labels: &Labels<'_>, possible: &Possible) -> Option<Server<'a>> {
        let all: Vec<usize> = possible.keys().copied().collect();
        let hits = self.hits(&all, possible, labels);
        let (first, hook) = *hits.first()?;
        let message = "the control plane there serves this part of the tree too";
        let place = Label {
            message: message.to_owned(),
            ..first.place.clone()
        };
        let assumption =
            Fact::known((), place).resting_on(&Fact::assumed((), message, Some(SETTLE)));
        let planes = hits.into_iter().map(|(plane, _)| plane).collect();
        Some(Server::Planes {
            planes,
            hook: hook.map(|hook| hook.place.clone()),
            assumption: Some(assumption),
        })
    }

    /// Returns the nearest of the control planes at `positions` that inject, each with its webhook if the tree holds it;
    /// the chosen one if one is.
    fn hits<'a>(
        &'a self,
        positions: &[usize],
        possible: &Possible,
        labels: &Labels<'_>,
    ) -> Vec<(&'a Install, Option<&'a Webhook>)> {
        let planes = positions.iter().filter_map(|at| {
            let hooks = possible.get(at)?;
            let plane = self.control_planes.get(*at)?;
            serves(plane, hooks, labels).map(|hook| (plane, hook))
        });
        let mut all: Vec<_> = planes.collect();
        let near = |plane: &Install| nearness(&plane.place.path, labels.path);
        let best = all.iter().map(|(plane, _)| near(plane)).max();
        all.retain(|(plane, _)| Some(near(plane)) == best);
        self.chosen(all)
    }
}

/// What decides about a webhook besides what can be evaluated.
fn unevaluated(hook: &Webhook) -> Option<Fact<()>> {
    let open = hook.open.clone()?;
    let said = "the webhook asks the injector about this pod";
    let settle = Some("--override injection=all|none");
    Some(Fact::known((), open).resting_on(&Fact::assumed((), said, settle)))
}

/// The tree holds no control plane: a revision that is named is taken as served.
fn without_planes<'a>(labels: &Labels<'_>) -> Server<'a> {
    let (input, assumed) = (&labels.input, &labels.given.assume.revisions);
    if !assumed.is_empty() {
        return given(assumed, input, "--assume");
    }
    if webhook(&anyone(input), input).is_none() {
        return Server::NotAsked;
    }
    let said = "a control plane serves the revision named there";
    let assumption = is_foreign_revision(input).then(|| Fact::assumed((), said, Some(SETTLE)));
    Server::Someone { assumption }
}

/// `--assume` names who is not in the tree: a managed mesh, say.
fn assumed_name<'a>(labels: &Labels<'_>) -> Option<Server<'a>> {
    let names = &labels.given.assume.revisions;
    let plane = plane_of(names);
    webhook(&plane, &labels.input)?;
    let said = format!("the mesh serves {} (--assume)", names.join(", "));
    Some(Server::Someone {
        assumption: Some(Fact::assumed((), said, None)),
    })
}

/// Returns whether a control plane injects: its webhooks decide as far as the tree holds them. `hooks` are the positions
/// of those that may select the pod.
fn serves<'a>(
    plane: &'a Install,
    hooks: &[usize],
    labels: &Labels<'_>,
) -> Option<Option<&'a Webhook>> {
    let literal = hooks.iter().filter_map(|at| plane.webhooks.get(*at));
    let hook = literal
        .filter(|hook| hook.matches(|key| labels.namespace(key), |key| labels.pod(key)))
        .min_by_key(|hook| hook.open.is_some());
    if hook.is_some() {
        return Some(hook);
    }
    webhook(&modelled(plane), &labels.input).map(|_| None)
}

/// The control plane as the charts would make its webhooks, without those that the tree holds.
fn modelled(plane: &Install) -> ControlPlane {
    let literal = |tag: Option<&str>| plane.webhooks.iter().any(|hook| hook.tag.as_deref() == tag);
    let own = !matches!(plane.part, Part::Tags { .. }) && !literal(None);
    let tags = plane.tags.iter().map(|tag| &tag.value);
    let tags: Vec<String> = tags.filter(|tag| !literal(Some(tag))).cloned().collect();
    let is_default = own && plane.revision.is_none() || tags.iter().any(|tag| tag == "default");
    let revision = own.then(|| plane.revision_name().to_owned());
    ControlPlane {
        names: revision.into_iter().chain(tags).collect(),
        is_default,
        namespaces_by_default: plane
            .namespaces_by_default
            .as_ref()
            .is_some_and(|fact| fact.value),
        policy_enabled: true,
    }
}

/// A control plane that answers to every name that is asked for.
fn anyone(input: &InjectionInput<'_>) -> ControlPlane {
    let mut plane = ControlPlane::default();
    let named = [input.namespace_revision, input.revision];
    plane
        .names
        .extend(named.into_iter().flatten().map(str::to_owned));
    plane
}

/// The names that an option gives.
fn given<'a>(names: &[String], input: &InjectionInput<'_>, option: &str) -> Server<'a> {
    if webhook(&plane_of(names), input).is_some() {
        return Server::Someone { assumption: None };
    }
    if webhook(&anyone(input), input).is_none() {
        return Server::NotAsked;
    }
    let said = format!("the mesh serves {} ({option})", names.join(", "));
    Server::Nobody {
        because: vec![Reason::said(said, None)],
    }
}

fn plane_of(names: &[String]) -> ControlPlane {
    ControlPlane {
        names: names.to_vec(),
        is_default: names.iter().any(|name| name == "default"),
        ..ControlPlane::default()
    }
}

/// A control plane in scope has names that could not be read.
fn open<'a>(planes: &[&'a Install]) -> Option<Server<'a>> {
    let why = planes
        .iter()
        .find_map(|plane| plane.more_names.as_ref().or_else(|| plane.unread.first()))?;
    let said = "a control plane serves the revision named there";
    let mut assumption = Fact::assumed((), said, Some(SETTLE));
    assumption.because.push(why.clone());
    Some(Server::Someone {
        assumption: Some(assumption),
    })
}

/// Says which names are served instead of the one that is asked for.
fn answers(planes: &[&Install], input: &InjectionInput<'_>) -> Vec<Reason> {
    let named = input.namespace_revision.or(input.revision);
    let by_name = named.filter(|_| input.namespace_injection.is_none());
    let asked = by_name.unwrap_or("default");
    let (first, rest) = planes.split_at(planes.len().min(NAMED));
    let rest = rest
        .iter()
        .filter(|plane| plane.names().any(|name| name == asked));
    first
        .iter()
        .chain(rest.take(NAMED))
        .map(|plane| {
            let mut names = plane.names();
            if names.any(|name| name == asked) {
                // The name is right: what its webhooks select is not this pod.
                let said =
                    "the selectors of its webhooks do not match the labels of pod and namespace";
                let hook = plane
                    .webhooks
                    .first()
                    .map_or(&plane.place, |hook| &hook.place);
                return Reason::written(Label {
                    message: said.to_owned(),
                    ..hook.clone()
                });
            }
            let names: Vec<String> = plane.names().map(|name| format!("`{name}`")).collect();
            let message = format!("serves {}, not `{asked}`", names.join(", "));
            Reason::written(Label {
                message,
                ..plane.place.clone()
            })
        })
        .collect()
}

/// Tells whether a revision other than the default one is asked for.
fn is_foreign_revision(input: &InjectionInput<'_>) -> bool {
    let named = input.namespace_revision.or(input.revision);
    input.namespace_injection.is_none() && named.is_some_and(|name| name != "default")
}
