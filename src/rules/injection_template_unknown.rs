//! Rule `injection-template-unknown`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::suggest::is_close;
use super::{Scene, scene};
use crate::finding::{Applicability, Certainty, Finding, Fix, Severity};
use crate::kube::Workload;
use crate::mesh::Fact;
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds injection templates that the mesh does not have.
    ///
    /// ## What it checks
    /// Names in `inject.istio.io/templates` that are neither one of Istio's templates nor a template
    /// or alias of the installation in the tree. Where something had to be assumed, a slip in the
    /// name of one of Istio's templates is a warning and any other name a note: the mesh may have a
    /// template of its own.
    ///
    /// ## Why it matters
    /// Istio refuses the pod ("requested template not found"). No pod is created, and only the events
    /// of the ReplicaSet tell.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   profile: default
    /// ---
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
    ///     inject.istio.io/templates: sidecar,nosuch
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   profile: default
    /// ---
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
    ///     inject.istio.io/templates: sidecar
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Writing the closest known name is unsafe: it may be another one that was meant.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio documentation: "Installing the Sidecar"
    "injection-template-unknown", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let asked = scene.pods().filter(|pod| pod.is_asked);
    asked.flat_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::TEMPLATES) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    let install = scene.context.install(workload);
    let planes = install.candidates.iter();
    let known: Vec<&str> = planes
        .flat_map(|one| {
            let custom = one.custom_templates.iter().map(|fact| fact.value.as_str());
            custom.chain(
                one.template_aliases
                    .iter()
                    .map(|alias| alias.value.0.as_str()),
            )
        })
        .chain(annotations::TEMPLATES.iter().copied())
        .collect();
    let is_unknown =
        |name: &&str| !name.is_empty() && !known.contains(name) && !placeholder::contains(name);
    let unknown = list.split(',').map(str::trim).filter(is_unknown);
    let findings = unknown.map(|name| {
        let message = format!(
            "Istio refuses the pod: it has no injection template `{name}`, so {}",
            pod_key::not_created(workload),
        );
        let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
        let closest = known.iter().find(|one| is_close(name, one)).copied();
        scene::rest_on_fact(&mut finding, &pod.dataplane);
        if install.candidates.is_empty() {
            let said =
                format!("the mesh has no template `{name}` of its own (no installation in scope)");
            scene::rest_on_fact(
                &mut finding,
                &Fact::assumed((), said, Some("--context PATH")),
            );
        }
        if let Some(unread) = install.unread() {
            scene::rest_on_fact(&mut finding, &unread);
        }
        // A template of the mesh's own is more likely than a fault.
        if closest.is_none() && finding.certainty <= Certainty::Assumed {
            finding.severity = Severity::Note;
        }
        finding.help = Some(match closest {
            Some(closest) => format!("did you mean `{closest}`?"),
            None => format!("it has: {}", known.join(", ")),
        });
        finding.fix = closest.map(|closest| fix(workload, list, name, closest));
        finding
    });
    findings.collect()
}

fn fix(workload: &Workload<'_>, list: &str, name: &str, closest: &str) -> Fix {
    let names = list.split(',').map(str::trim);
    let names: Vec<&str> = names
        .map(|one| if one == name { closest } else { one })
        .collect();
    let change = Change::Set {
        route: workload.template.annotation_route(keys::TEMPLATES),
        value: Value::Str(names.join(",")),
    };
    let title = format!("write `{closest}`");
    scene::fix(&workload.object, title, Applicability::Unsafe, vec![change])
}
