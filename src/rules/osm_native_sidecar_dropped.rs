//! Rule `osm-native-sidecar-dropped`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::ContainerList;
use crate::mesh::Mesh;
use crate::predict::{Cause, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds native sidecars in pods that OSM injects.
    ///
    /// ## What it checks
    /// An init container with `restartPolicy: Always`, in a pod that OSM injects.
    ///
    /// ## Why it matters
    /// The webhook knows the pods of Kubernetes 1.26: what is newer it takes out when it writes the
    /// pod back, `restartPolicy` of an init container too. The container becomes an ordinary init
    /// container that never ends, and the pod never gets past it.
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
    /// spec:
    ///   initContainers:
    ///     - name: logs
    ///       image: registry.example/logs:1
    ///       restartPolicy: Always
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///     - name: logs
    ///       image: registry.example/logs:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: as an ordinary container it starts and stops together with the
    /// others.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/patch.go`, `go.mod` (k8s.io/api v0.26)
    "osm-native-sidecar-dropped", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.pods().filter(|pod| {
        pod.mesh.value == Some(Mesh::Osm)
            && pod.dataplane.value == Dataplane::Other
            && !scene.context.brings_proxy(&pod.workload)
    });
    struck.flat_map(of_pod).collect()
}

/// One finding for each probe of such a container, which never comes to run; else one for it.
fn of_pod(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let containers = pod.workload.template.containers_in(ContainerList::Init);
    let sidecars = containers.iter().filter(|one| one.is_native_sidecar());
    let mut found = Vec::new();
    for sidecar in sidecars {
        let name = sidecar.name();
        let span = sidecar
            .node
            .entry("restartPolicy")
            .map(|entry| entry.key.span());
        let span = span.unwrap_or_else(|| sidecar.node.span());
        let message = format!(
            "init container `{name}` never ends: OSM drops its `restartPolicy`, and the pod hangs"
        );
        let probes = pod.handlers.iter().filter(|one| {
            one.container.name() == name && one.verdict.cause == Cause::Other(Trouble::NeverStarts)
        });
        let before = found.len();
        found.extend(probes.map(|one| {
            scene::about_handler(
                &RULE,
                pod,
                one,
                span,
                format!("{message} before {} is made", one.title()),
            )
        }));
        if found.len() == before {
            let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
            finding.container = Some(name.to_owned());
            scene::rest_on_fact(&mut finding, &pod.dataplane);
            found.push(finding);
        }
    }
    for finding in &mut found {
        finding.help =
            Some("make it an ordinary container, or leave the pod out of OSM".to_owned());
    }
    found
}
