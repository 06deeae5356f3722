//! The fields of a pod that decide about its probes, with their lines.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{ContainerList, Object};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{NodeRef, Span};

/// The fields of a container that decide about its probes.
const OF_CONTAINER: [&str; 7] = [
    "name",
    "ports",
    "restartPolicy",
    "startupProbe",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
];

/// The start of the path of a label of the pod.
pub(super) const LABEL: &str = "labels.";

/// A field of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The path, such as `containers[web].ports[8080].name`.
    pub(super) path: String,
    /// The value as written.
    pub(super) value: String,
    /// The line that sets it.
    pub(super) place: Label,
}

/// Returns the path of a container.
pub(super) fn container_path(list: ContainerList, name: &str) -> String {
    format!("{}[{name}]", list.key())
}

/// Returns the fields of a pod: its namespace and its labels, what its spec sets directly, and the ports and probes of its
/// containers.
pub(super) fn fields_of(pod: &WorkloadPrediction<'_>) -> Arc<[Field]> {
    if pod.handlers.is_empty() {
        return Arc::default();
    }
    let object = &pod.workload.object;
    let mut fields = Fields {
        object,
        found: Vec::new(),
    };
    let namespace = object.metadata().and_then(|all| all.get("namespace"));
    if let Some(namespace) = namespace {
        fields.add("namespace".to_owned(), namespace, 0);
    } else if let Some(to) = &object.destination {
        fields.found.push(Field {
            path: "namespace".to_owned(),
            value: to.namespace.to_owned(),
            place: Label {
                path: Arc::clone(&to.path),
                span: to.span,
                message: String::new(),
            },
        });
    }
    let template = &pod.workload.template;
    for label in template.labels().into_iter().flat_map(NodeRef::entries) {
        let key = label.key.text().unwrap_or_default();
        fields.add(format!("{LABEL}{key}"), label.value, 0);
    }
    for entry in template.spec.entries() {
        fields.add(
            entry.key.text().unwrap_or_default().to_owned(),
            entry.value,
            0,
        );
    }
    for container in template.containers() {
        let path = container_path(container.list, container.name());
        let entries = container.node.entries();
        for entry in entries {
            let key = entry.key.text().unwrap_or_default();
            if OF_CONTAINER.contains(&key) {
                fields.add(format!("{path}.{key}"), entry.value, DEPTH);
            }
        }
    }
    fields.found.into()
}

/// The number of levels below a field of a container: those of the headers of a probe.
const DEPTH: usize = 4;

struct Fields<'o, 't> {
    object: &'o Object<'t>,
    found: Vec<Field>,
}

impl<'t> Fields<'_, 't> {
    /// Adds a scalar, or the scalars in a mapping or list up to `depth` levels below it.
    fn add(&mut self, path: String, node: NodeRef<'t>, depth: usize) {
        if node.is_mapping() || node.is_sequence() {
            let Some(depth) = depth.checked_sub(1) else {
                return;
            };
            for entry in node.entries() {
                let key = entry.key.text().unwrap_or_default();
                self.add(format!("{path}.{key}"), entry.value, depth);
            }
            for (index, item) in node.items().enumerate() {
                let key = ["containerPort", "name"]
                    .iter()
                    .find_map(|key| item.get(key));
                let key = key.and_then(NodeRef::text);
                let key = key.map_or_else(|| index.to_string(), str::to_owned);
                self.add(format!("{path}[{key}]"), item, depth);
            }
            return;
        }
        let span: Span = node.span();
        self.found.push(Field {
            path,
            value: node.text().unwrap_or_default().to_owned(),
            place: self.object.label_at(span, ""),
        });
    }
}
