//! Rule `osm-annotation-value`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::Mesh;
use crate::mesh::osm::injection::refused_values;
use crate::mesh::osm::{INJECTION, MONITORED};
use crate::yaml::Entry;

declare_rule! {
    /// Finds values of annotations for which OSM refuses pods.
    ///
    /// ## What it checks
    /// The annotation `openservicemesh.io/sidecar-injection` of a pod or of a Namespace that OSM
    /// monitors, with a value that is none of `enabled`, `yes`, `true`, `disabled`, `no` and `false`,
    /// in any case; and the port list `openservicemesh.io/inbound-port-exclusion-list` of a pod with
    /// anything but numbers in it.
    ///
    /// ## Why it matters
    /// The webhook cannot read the value and refuses the pod. A Deployment stays where it is, with an
    /// event of its ReplicaSet as the only sign.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: "on"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: `on` may be meant as either.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/webhook.go`, `pkg/injector/iptables.go`
    "osm-annotation-value", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let pods = scene
        .pods()
        .filter(|pod| pod.mesh.value == Some(Mesh::Osm) && scene.context.is_refused(&pod.workload));
    let of_pods = pods.flat_map(|pod| {
        let refused = refused_values(pod.workload.template.annotations());
        let all = refused.into_iter();
        all.map(move |(entry, why)| report(&pod.workload.object, &entry, &why))
    });
    let monitored = scene
        .namespaces()
        .filter(|one| one.label(MONITORED).is_some());
    let of_namespaces = monitored.flat_map(|namespace| {
        let annotations = namespace.metadata().and_then(|all| all.get("annotations"));
        // The list of ports is read at pods alone.
        let refused = refused_values(annotations).into_iter();
        let refused = refused.filter(|(entry, _)| entry.key.text() == Some(INJECTION));
        refused.map(move |(entry, why)| report(namespace, &entry, &why))
    });
    of_pods.chain(of_namespaces).collect()
}

fn report(object: &Object<'_>, entry: &Entry<'_>, why: &str) -> Finding {
    let key = entry.key.text().unwrap_or_default();
    let message = format!("OSM refuses every pod with this `{key}`: {why}");
    let mut finding = scene::about_object(&RULE, object, entry.value.span(), message);
    finding.help = Some(if key == INJECTION {
        "write `enabled` or `disabled`".to_owned()
    } else {
        "list port numbers, separated by commas".to_owned()
    });
    finding
}
