//! Pod templates in objects of operators: kinds that are not known, whose pods no manifest contains.
//!
//! `InferenceService`s of KServe.
//!
//! Source: KServe 0.20.0, `pkg/controller/v1beta1/inferenceservice/components/predictor.go` (`buildObjectMeta`) and
//! `transformer.go`: the labels and annotations of the object are set on its pods, and those of a component take
//! precedence.

use meshprobe_yaml::{FieldPath, NodeRef};

use super::object::Object;
use super::operators::{PodMaker, PodSource};
use super::policy::may_create_pods;
use super::probe_handler::KNATIVE_SERVING;
use super::workload::{Placement, PodTemplate, Workload};

/// Maximum depth of the search, deeper than any pod template.
const DEPTH: usize = 32;

/// The pods that an object of an operator describes.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedPods<'t> {
    /// The complete pod templates: every container has a name and an image.
    pub workloads: Vec<Workload<'t>>,
    /// The first part of a pod that is not complete, and why it is not judged.
    pub incomplete: Option<(NodeRef<'t>, IncompletePod)>,
}

/// Why the part of a pod in an object is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompletePod {
    /// An operator adds it to a pod that it generates.
    Patch,
    /// It is a pattern that a policy compares or merges with other objects.
    Policy,
    /// The parameters of an OpenShift template are not filled in.
    Template,
}

/// Returns the pods that `object` describes below `spec`, if its kind is not known.
#[must_use]
pub fn embedded_pods<'t>(object: &Object<'t>) -> EmbeddedPods<'t> {
    let (group, kind) = (object.group(), object.kind);
    let mut search = Search {
        object,
        found: EmbeddedPods::default(),
    };
    let tree = object.node.tree();
    let may_have_pods = || tree.contains_text("containers") || tree.contains_text("Probe");
    let is_revision = group == KNATIVE_SERVING && kind != "Revision";
    let is_template = is_openshift_template(object);
    let source = PodMaker::of(group, kind).map(|maker| maker.source);
    if !(may_create_pods(group, kind) || is_template)
        || matches!(source, Some(PodSource::Values | PodSource::Deployment))
        || is_revision
        || !may_have_pods()
    {
        return search.found;
    }
    let root = FieldPath::root();
    if is_template {
        let objects = object.node.get("objects");
        search.visit(objects, None, &root.child("objects"), DEPTH);
        return search.incomplete_as(IncompletePod::Template);
    }
    let spec = object.node.get("spec");
    search.visit(spec, Some((object.node, &root)), &root.child("spec"), DEPTH);
    if is_policy(group) {
        search.incomplete_as(IncompletePod::Policy)
    } else if matches!(
        source,
        Some(PodSource::OperatorWithContainers | PodSource::Fragment)
    ) {
        search.incomplete_as(IncompletePod::Patch)
    } else {
        search.found
    }
}

/// Returns whether the object is a template of OpenShift. Old ones have the API version `v1`.
fn is_openshift_template(object: &Object<'_>) -> bool {
    let is_old = object.group().is_empty() && object.node.get("objects").is_some();
    object.kind == "Template" && (is_old || object.group() == "template.openshift.io")
}

/// Returns whether objects of this group contain patterns of other objects.
fn is_policy(group: &str) -> bool {
    group == "kyverno.io"
        || group.ends_with(".kyverno.io")
        || group.ends_with(".gatekeeper.sh")
        || group.starts_with("policy.")
}

struct Search<'o, 't> {
    object: &'o Object<'t>,
    found: EmbeddedPods<'t>,
}

impl<'t> Search<'_, 't> {
    /// Returns what was found with all pods as incomplete ones.
    fn incomplete_as(mut self, why: IncompletePod) -> EmbeddedPods<'t> {
        let first = self
            .found
            .workloads
            .drain(..)
            .map(|workload| workload.template.spec)
            .chain(self.found.incomplete.map(|(node, _)| node))
            .min_by_key(|node| node.span().start);
        EmbeddedPods {
            workloads: Vec::new(),
            incomplete: first.map(|node| (node, why)),
        }
    }

    /// Searches a node at `path`. `parent` is the mapping that contains it as `spec`, with its path. Aliases are not
    /// followed, because the search also visits their anchors.
    fn visit(
        &mut self,
        node: Option<NodeRef<'t>>,
        parent: Option<(NodeRef<'t>, &FieldPath)>,
        path: &FieldPath,
        depth: usize,
    ) {
        let (Some(node), Some(depth)) = (node, depth.checked_sub(1)) else {
            return;
        };
        if let Some(is_complete) = containers_of(node) {
            if is_complete {
                let workload = self.workload(node, parent, path);
                self.found.workloads.push(workload);
            } else {
                self.add_incomplete(node);
            }
            return;
        }
        if has_probe(node) {
            self.add_incomplete(node);
        }
        for entry in node.entries() {
            let Some(key) = entry.key.text() else {
                continue;
            };
            let child = path.child(key.to_owned());
            let parent = (key == "spec").then_some((node, path));
            self.visit(Some(entry.value), parent, &child, depth);
        }
        for (index, item) in node.items().enumerate() {
            self.visit(Some(item), None, &path.child(index), depth);
        }
    }

    fn add_incomplete(&mut self, node: NodeRef<'t>) {
        self.found
            .incomplete
            .get_or_insert((node, IncompletePod::Patch));
    }

    fn workload(
        &self,
        spec: NodeRef<'t>,
        parent: Option<(NodeRef<'t>, &FieldPath)>,
        path: &FieldPath,
    ) -> Workload<'t> {
        let (node, within, placement) = match parent {
            Some((node, within)) => (node, within, Placement::Embedded),
            None => (spec, path, Placement::EmbeddedSpec),
        };
        let object = self.object.clone();
        let template = PodTemplate::new(node, spec, &object.route, within.clone(), placement);
        let template = with_component_metadata(template, &object);
        Workload { object, template }
    }
}

/// Returns whether all containers of a pod spec are complete; `None` for a node that is not a pod spec.
fn containers_of(node: NodeRef<'_>) -> Option<bool> {
    let is_set = |container: NodeRef<'_>, key: &str| {
        let text = container.get(key).and_then(NodeRef::text);
        text.is_some_and(|text| !text.is_empty())
    };
    let containers = node.get("containers")?;
    let mut items = containers.items().peekable();
    items.peek()?;
    let mut is_complete = true;
    for container in items {
        if !is_set(container, "name") {
            return None;
        }
        is_complete &= is_set(container, "image");
    }
    Some(is_complete)
}

/// Returns whether a mapping has a probe that does not execute a command. An operator adds it to a container that it
/// generates; without a handler, it also adds the handler.
fn has_probe(node: NodeRef<'_>) -> bool {
    const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
    const FIELDS: [&str; 9] = [
        "httpGet",
        "tcpSocket",
        "grpc",
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
        "terminationGracePeriodSeconds",
    ];
    let is_probe = |probe: NodeRef<'_>| {
        probe.get("exec").is_none() && FIELDS.iter().any(|key| probe.get(key).is_some())
    };
    node.is_mapping() && PROBES.iter().filter_map(|key| node.get(key)).any(is_probe)
}

/// The fields of an `InferenceService` that describe pods.
const COMPONENTS: [&str; 3] = ["predictor", "transformer", "explainer"];

/// Iterates over the components of an `InferenceService`, each with its key; none for other objects.
pub fn inference_components<'t>(
    object: &Object<'t>,
) -> impl Iterator<Item = (NodeRef<'t>, NodeRef<'t>)> + use<'t> {
    let is_service = object.group() == "serving.kserve.io" && object.kind == "InferenceService";
    let spec = object.node.get("spec").filter(|_| is_service);
    COMPONENTS
        .into_iter()
        .filter_map(move |key| spec?.entry(key))
        .filter(|entry| entry.value.is_mapping())
        .map(|entry| (entry.key, entry.value))
}

/// Sets the labels and annotations that KServe gives the pods of a component.
pub(super) fn with_component_metadata<'t>(
    template: PodTemplate<'t>,
    object: &Object<'t>,
) -> PodTemplate<'t> {
    let component = template.spec;
    let is_component =
        inference_components(object).any(|(_, node)| node.span() == component.span());
    match is_component {
        true => template.with_metadata(component, object.metadata()),
        false => template,
    }
}
