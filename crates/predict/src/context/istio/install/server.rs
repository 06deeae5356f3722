//! Decides which control plane injects the pods of a workload: by the webhooks of the tree, else by
//! the webhooks that Istio's charts create for the revisions and tags of a control plane.

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::istio::injection::{ControlPlane, InjectionInput, webhook};
use meshprobe_mesh::mesh::istio::install::{Carrier, Install, MEMBER_OF, Part, Webhook};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Reason};
use meshprobe_mesh::settings::InjectionAssumption;
use meshprobe_yaml::{Entry, NodeRef};

use super::view::NAMED;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::run_context::Context;
use crate::context::user_facts::UserFacts;

/// The option that settles which revisions are served.
const SETTLE: &str = "--assume revision=NAME";

/// The control plane that injects a pod.
#[derive(Clone, Debug)]
pub(in crate::context) enum Server<'a> {
    /// Control planes of the tree, all equally near.
    Planes {
        /// One or more.
        planes: Vec<&'a Install>,
        /// The webhook of the tree that selects the pod.
        hook: Option<Label>,
        /// The assumption that this rests on, if any.
        assumption: Option<Fact<()>>,
    },
    /// A control plane that is not in the tree.
    OutsideTree {
        /// The assumption that this rests on, if any.
        assumption: Option<Fact<()>>,
    },
    /// The labels name a revision that no control plane serves.
    NotServed {
        /// The revisions and tags that are served, and where.
        because: Vec<Reason>,
    },
    /// The labels do not request injection.
    NotRequested,
}

impl<'t> Context<'t> {
    /// Decides which control plane injects pods with these labels.
    pub(in crate::context) fn server<'c>(
        &'c self,
        labels: &Labels<'_>,
        scope: &[&'c Install],
    ) -> Server<'c> {
        let input = &labels.input;
        if !labels.given.overrides.revisions.is_empty() {
            return by_option(&labels.given.overrides.revisions, input, true);
        }
        if scope.is_empty() {
            return without_planes(labels);
        }
        let hits = self.hits(scope.iter().copied(), labels);
        if !hits.is_empty() {
            let hook = hits.iter().find_map(|(_, hook)| *hook);
            let planes = hits.iter().map(|(plane, _)| *plane).collect();
            return Server::Planes {
                planes,
                hook: hook.map(|hook| hook.place.clone()),
                assumption: hook.and_then(unevaluated),
            };
        }
        if webhook(&plane_serving_all_names(input), input).is_none() {
            return Server::NotRequested;
        }
        assumed_name(labels)
            .or_else(|| self.out_of_scope(labels))
            .or_else(|| open(scope))
            .or_else(|| self.by_istioctl(scope, input))
            .unwrap_or_else(|| Server::NotServed {
                because: served_instead(scope, input),
            })
    }

    /// Returns the installation that istioctl is assumed to have given the default role. `istioctl
    /// install` gives it to the first installation of a cluster, whatever its revision is
    /// (`istioctl/pkg/install`, since 1.10); the file does not state it.
    fn by_istioctl<'c>(
        &'c self,
        planes: &[&'c Install],
        input: &InjectionInput<'_>,
    ) -> Option<Server<'c>> {
        let planes = planes
            .iter()
            .copied()
            .filter(|plane| plane.carrier == Carrier::IstioOperator);
        let planes: Vec<&Install> = self.chosen(planes.collect());
        let first = planes.first().filter(|_| input.requests_default())?;
        let message = "istioctl gave this installation the default role";
        let place = Label {
            message: message.to_owned(),
            ..first.place.clone()
        };
        let assumption = Fact::known((), place).depending_on(&Fact::assumed(
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

    /// Returns the control planes elsewhere in the tree that serve the name, as an assumption: that is more likely than
    /// that none serves it.
    fn out_of_scope(&self, labels: &Labels<'_>) -> Option<Server<'_>> {
        let hits = self.hits(self.control_planes.iter(), labels);
        let (first, hook) = *hits.first()?;
        let message = "a control plane elsewhere in the tree serves this workload";
        let place = Label {
            message: message.to_owned(),
            ..first.place.clone()
        };
        let assumption =
            Fact::known((), place).depending_on(&Fact::assumed((), message, Some(SETTLE)));
        let planes = hits.into_iter().map(|(plane, _)| plane).collect();
        Some(Server::Planes {
            planes,
            hook: hook.map(|hook| hook.place.clone()),
            assumption: Some(assumption),
        })
    }

    /// Returns the nearest of `planes` that inject, each with its webhook if the tree holds it;
    /// the chosen one if one is.
    fn hits<'c>(
        &'c self,
        planes: impl Iterator<Item = &'c Install>,
        labels: &Labels<'_>,
    ) -> Vec<(&'c Install, Option<&'c Webhook>)> {
        let planes = planes.filter_map(|plane| Some((plane, serves(plane, labels)?)));
        let mut all: Vec<_> = planes.collect();
        let near = |plane: &Install| nearness(&plane.place.path, labels.path);
        let best = all.iter().map(|(plane, _)| near(plane)).max();
        all.retain(|(plane, _)| Some(near(plane)) == best);
        self.chosen(all)
    }
}

/// Returns the assumption that a webhook selects the pod, if it has conditions that cannot be
/// evaluated.
fn unevaluated(hook: &Webhook) -> Option<Fact<()>> {
    let open = hook.unevaluated.clone()?;
    let message = "the webhook selects this pod";
    let settle = Some("--override injection=all|none");
    Some(Fact::known((), open).depending_on(&Fact::assumed((), message, settle)))
}

/// Decides for a tree without a control plane: a revision that the labels name is assumed to be
/// served.
fn without_planes<'a>(labels: &Labels<'_>) -> Server<'a> {
    let (input, assumed) = (&labels.input, &labels.given.assume.revisions);
    if !assumed.is_empty() {
        return by_option(assumed, input, false);
    }
    if webhook(&plane_serving_all_names(input), input).is_none() {
        return Server::NotRequested;
    }
    let message = "a control plane serves the revision that the labels name";
    let assumption = names_other_revision(input).then(|| Fact::assumed((), message, Some(SETTLE)));
    Server::OutsideTree { assumption }
}

/// Returns a control plane that `--assume` names and that is not in the tree, such as a managed mesh.
fn assumed_name<'a>(labels: &Labels<'_>) -> Option<Server<'a>> {
    let names = &labels.given.assume.revisions;
    let plane = plane_of(names);
    webhook(&plane, &labels.input)?;
    let message = format!("the mesh serves {} (--assume)", names.join(", "));
    Some(Server::OutsideTree {
        assumption: Some(Fact::assumed_by_user((), message)),
    })
}

/// Returns whether a control plane injects: its webhooks decide as far as the tree holds them.
fn serves<'a>(plane: &'a Install, labels: &Labels<'_>) -> Option<Option<&'a Webhook>> {
    let hook = plane
        .webhooks
        .iter()
        .filter(|hook| hook.matches(|key| labels.namespace(key), |key| labels.pod(key)))
        .min_by_key(|hook| hook.unevaluated.is_some());
    if hook.is_some() {
        return Some(hook);
    }
    webhook(&modelled(plane), &labels.input).map(|_| None)
}

/// The control plane as the charts would make its webhooks, without those that the tree holds.
fn modelled(plane: &Install) -> ControlPlane {
    let literal = |tag: Option<&str>| plane.webhooks.iter().any(|hook| hook.tag.as_deref() == tag);
    let own = !matches!(plane.part, Part::Tags { .. }) && !literal(None);
    let tags: Vec<String> = plane
        .tags
        .iter()
        .map(|tag| &tag.value)
        .filter(|tag| !literal(Some(tag)))
        .cloned()
        .collect();
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

/// Returns a control plane that serves every revision that the labels name.
fn plane_serving_all_names(input: &InjectionInput<'_>) -> ControlPlane {
    let mut plane = ControlPlane::default();
    let named = [input.namespace_revision, input.revision];
    plane
        .names
        .extend(named.into_iter().flatten().map(str::to_owned));
    plane
}

/// Decides by the revisions that `--override` or `--assume` names.
fn by_option<'a>(names: &[String], input: &InjectionInput<'_>, is_override: bool) -> Server<'a> {
    let option = if is_override {
        "--override"
    } else {
        "--assume"
    };
    let message = format!("the mesh serves {} ({option})", names.join(", "));
    let served = Fact::set_by_user((), message, is_override);
    if webhook(&plane_of(names), input).is_some() {
        // The default revision is served without an option, too.
        let assumption = (!is_override && names_other_revision(input)).then_some(served);
        return Server::OutsideTree { assumption };
    }
    if webhook(&plane_serving_all_names(input), input).is_none() {
        return Server::NotRequested;
    }
    Server::NotServed {
        because: served.because,
    }
}

fn plane_of(names: &[String]) -> ControlPlane {
    ControlPlane {
        names: names.to_vec(),
        is_default: names.iter().any(|name| name == "default"),
        ..ControlPlane::default()
    }
}

/// Returns an assumed control plane if one in scope has names that could not be read.
fn open<'a>(planes: &[&'a Install]) -> Option<Server<'a>> {
    let why = planes
        .iter()
        .find_map(|plane| plane.more_names.as_ref().or_else(|| plane.unread.first()))?;
    let message = "a control plane serves the revision that the labels name";
    let mut assumption = Fact::assumed((), message, Some(SETTLE));
    assumption.because.push(why.clone());
    Some(Server::OutsideTree {
        assumption: Some(assumption),
    })
}

/// Returns which names are served instead of the one that the labels name, as reasons.
fn served_instead(planes: &[&Install], input: &InjectionInput<'_>) -> Vec<Reason> {
    let named = input.namespace_revision.or(input.revision);
    let asked = named
        .filter(|_| input.namespace_injection.is_none())
        .unwrap_or("default");
    // `istioctl tag set` creates tags that Git may not contain.
    let is_served = planes
        .iter()
        .any(|plane| plane.names().any(|name| name == asked));
    let message = format!("no tag `{asked}` was created outside of the tree");
    let assumption = (!is_served).then(|| Reason::without_place(message, Some(SETTLE)));
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
                // The name matches, but its webhooks do not select this pod.
                let message =
                    "the selectors of its webhooks do not match the labels of pod and namespace";
                let hook = plane
                    .webhooks
                    .first()
                    .map_or(&plane.place, |hook| &hook.place);
                return Reason::written(Label {
                    message: message.to_owned(),
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
        .chain(assumption)
        .collect()
}

/// Returns whether the labels name a revision other than the default one.
fn names_other_revision(input: &InjectionInput<'_>) -> bool {
    let named = input.namespace_revision.or(input.revision);
    input.namespace_injection.is_none() && named.is_some_and(|name| name != "default")
}

/// The label that Kubernetes sets on every Namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The labels that decide about injection.
#[derive(Clone, Copy, Debug)]
pub(in crate::context) struct Labels<'a> {
    /// The input of the injection model.
    pub(in crate::context) input: InjectionInput<'a>,
    /// All labels of the Namespace, if it is in the tree.
    namespace: Option<NodeRef<'a>>,
    /// The namespace of the control plane of OpenShift Service Mesh whose mesh contains the namespace.
    member_of: Option<&'a str>,
    /// All labels of the pod.
    pod: Option<NodeRef<'a>>,
    /// The file of the workload.
    pub(in crate::context) path: &'a str,
    /// The user's facts for it.
    pub(in crate::context) given: &'a UserFacts,
}

impl<'a> Labels<'a> {
    /// Returns the value of a label of the pod.
    pub(in crate::context) fn pod(&self, key: &str) -> Option<&'a str> {
        self.pod?.get(key)?.text()
    }

    /// Returns the value of a label of the namespace, written or assumed.
    pub(in crate::context) fn namespace(&self, key: &str) -> Option<&'a str> {
        match key {
            keys::NAMESPACE_INJECTION => self.input.namespace_injection,
            keys::REVISION => self.input.namespace_revision,
            NAMESPACE_NAME => Some(self.input.namespace),
            MEMBER_OF if self.member_of.is_some() => self.member_of,
            _ => self.namespace?.get(key)?.text(),
        }
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the labels that decide about injection. A namespace that is not in the tree gets the
    /// labels that it would have if it were injected.
    pub(in crate::context) fn labels(&self, scope: &[&'c Install]) -> Labels<'c>
    where
        't: 'c,
    {
        let object = &self.workload.object;
        self.labels_in(self.context.namespace_of(object).manifest(), scope)
    }

    /// Returns the labels that decide about injection if `namespace` is the Namespace.
    pub(in crate::context) fn labels_in(
        &self,
        namespace: Option<&'c Object<'c>>,
        scope: &[&'c Install],
    ) -> Labels<'c>
    where
        't: 'c,
    {
        let object = &self.workload.object;
        let template = &self.workload.template;
        let given = self.context.user_facts(object);
        let found = namespace.filter(|_| !given.overrides_injection());
        let namespace = self.context.namespace_of(object).name;
        let of_namespace = |key: &str| text(found.and_then(|found| found.label(key)));
        let mut input = InjectionInput {
            namespace,
            namespace_injection: of_namespace(keys::NAMESPACE_INJECTION),
            namespace_revision: of_namespace(keys::REVISION),
            label: text(template.label(keys::INJECT)),
            annotation: text(template.annotation(keys::INJECT)),
            revision: text(template.label(keys::REVISION)),
            host_network: template.host_network().is_some(),
        };
        let member_of = self.member_of();
        if found.is_none() && input.revision.is_none() && member_of.is_none() {
            match assumed_revision(given, scope) {
                Some(name) => input.namespace_revision = Some(name),
                None => input.namespace_injection = Some("enabled"),
            }
        }
        let metadata = found.and_then(Object::metadata);
        Labels {
            input,
            namespace: metadata.and_then(|metadata| metadata.get("labels")),
            member_of,
            pod: template.labels(),
            path: object.path(),
            given,
        }
    }
}

impl UserFacts {
    /// Returns whether an option decides about injection and overrides the tree.
    pub(in crate::context) fn overrides_injection(&self) -> bool {
        let given = self.overrides.injection;
        given.is_some_and(|given| given != InjectionAssumption::Evidence)
    }
}

/// Returns the revision that an injected namespace must name; `None` if a control plane has the
/// default role.
fn assumed_revision<'a>(given: &'a UserFacts, scope: &[&'a Install]) -> Option<&'a str> {
    let given = [&given.overrides.revisions, &given.assume.revisions];
    let given = given.into_iter().find(|names| !names.is_empty());
    if let Some(names) = given {
        let has_default = names.iter().any(|name| name == "default");
        return names.first().map(String::as_str).filter(|_| !has_default);
    }
    if scope.iter().any(|plane| plane.is_default()) {
        return None;
    }
    scope.first().and_then(|plane| plane.names().next())
}

fn text<'a>(entry: Option<Entry<'a>>) -> Option<&'a str> {
    entry.and_then(|entry| entry.value.text())
}
