//! Rule `native-sidecar-startup-deadlock`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::proxy_container;
use crate::finding::{Applicability, Finding};
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds startup probes of init containers that need a sidecar which starts after them.
    ///
    /// ## What it checks
    /// A startup probe of an init container with `restartPolicy: Always` that is rewritten, or
    /// points at the agent already, while the sidecar is a container like others: by annotation, by
    /// the installation, or because the release is older than 1.27. From 1.27 on the nodes decide;
    /// where nothing says which Kubernetes they run, it is a warning.
    ///
    /// ## Why it matters
    /// The kubelet starts nothing behind such a container until its startup probe has passed. The
    /// probe now asks the agent, which is in the sidecar, which has not been started: the pod stays
    /// in Init for ever.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/nativeSidecar: "false"
    /// spec:
    ///   initContainers:
    ///     - name: log
    ///       image: registry.example/log:1
    ///       restartPolicy: Always
    ///       startupProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/nativeSidecar: "true"
    /// spec:
    ///   initContainers:
    ///     - name: log
    ///       image: registry.example/log:1
    ///       restartPolicy: Always
    ///       startupProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Making the sidecar a native one is unsafe: it changes the order of all containers of the
    /// pod, and needs Istio 1.24 and Kubernetes 1.29. It is not offered for older releases and for
    /// manifests that bring their own sidecar.
    ///
    /// ## References
    /// - Istio documentation: "Resource Annotations"
    /// - Kubernetes documentation: "Sidecar Containers"
    "native-sidecar-startup-deadlock", Error, fix: Sometimes, scope: Workloads
}

/// Since when a pod may choose.
const CHOICE: Version = Version::new(1, 24);

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::BeforeSidecar);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} can never pass: it asks the agent in the sidecar, which starts only after this init \
         container, so the pod stays in Init",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let brings_sidecar =
        proxy_container(&pod.workload).is_some_and(|proxy| proxy.image() != Some("auto"));
    let may_choose = pod.release.value.is_none_or(|release| release >= CHOICE);
    if brings_sidecar || !may_choose {
        finding.help = Some("make it an exec probe: those are not rewritten".to_owned());
        return finding;
    }
    finding.help = Some("an exec probe would do too: those are not rewritten".to_owned());
    let title = format!(
        "set `{}` to \"true\": the sidecar then starts before all others",
        keys::NATIVE_SIDECAR
    );
    let change = Change::Set {
        route: pod.workload.template.annotation_route(keys::NATIVE_SIDECAR),
        value: Value::from("true"),
    };
    let object = &pod.workload.object;
    finding.fix = Some(scene::fix(
        object,
        title,
        Applicability::Unsafe,
        vec![change],
    ));
    finding
}
