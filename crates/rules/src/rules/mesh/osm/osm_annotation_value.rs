//! Rule `osm-annotation-value`, documented in `docs/rules/osm-annotation-value.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::injection::invalid_annotation_values;
use meshprobe_mesh::mesh::osm::{INJECTION, MONITORED};
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "osm-annotation-value", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter(|pod| {
        pod.mesh.value == Some(Mesh::OSM) && cx.context.mesh_of(&pod.workload).is_refused()
    });
    let of_pods = pods.flat_map(|pod| {
        let refused = invalid_annotation_values(pod.workload.template.annotations());
        refused
            .into_iter()
            .map(move |(entry, why)| report(&pod.workload.object, &entry, &why))
    });
    let monitored = cx
        .namespaces()
        .filter(|namespace| namespace.label(MONITORED).is_some());
    let of_namespaces = monitored.flat_map(|namespace| {
        let annotations = namespace.metadata().and_then(|all| all.get("annotations"));
        // OSM reads the list of ports only on pods.
        let refused = invalid_annotation_values(annotations).into_iter();
        let refused = refused.filter(|(entry, _)| entry.key.text() == Some(INJECTION));
        refused.map(move |(entry, why)| report(namespace, &entry, &why))
    });
    of_pods.chain(of_namespaces).collect()
}

fn report(object: &Object<'_>, entry: &Entry<'_>, why: &str) -> Finding {
    let key = entry.key.text().unwrap_or_default();
    let message = format!("OSM refuses every pod with this value of `{key}`: {why}");
    let mut finding = RULE.finding_on_object(object, entry.value.span(), message);
    finding.help = Some(if key == INJECTION {
        "set it to `enabled` or `disabled`".to_owned()
    } else {
        "list port numbers, separated by commas".to_owned()
    });
    finding
}
