//! Rule `revision-not-installed`.

use super::rule::declare_rule;
use super::suggest::is_close;
use super::{Scene, scene};
use crate::finding::{Finding, Label};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::source::placeholder;
use crate::yaml::{Entry, Route};

/// How many control planes are shown.
const SHOWN: usize = 3;

declare_rule! {
    /// Finds revisions that no control plane of the tree answers to.
    ///
    /// ## What it checks
    /// The label `istio.io/rev` of a Namespace, or of a pod in a Namespace without injection label,
    /// that names neither a revision nor a tag of the control planes in the tree. Without any control
    /// plane in the tree the rule is silent, and so it is where one may have more names than are
    /// written.
    ///
    /// ## Why it matters
    /// No webhook matches. The pods run without a sidecar, and nothing says so.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   revision: 1-26-8
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/rev: 1-24-0
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
    ///   revision: 1-26-8
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/rev: 1-26-8
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the control plane may be elsewhere.
    ///
    /// ## References
    /// - Istio documentation: "Canary Upgrades"
    "revision-not-installed", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    let context = scene.context;
    let served: Vec<(&str, &Label)> = context.served_names();
    let planes = context.control_planes.iter();
    let mut open = planes.map(|one| one.more_names.is_some() || !one.unread.is_empty());
    let given = &context.settings;
    let named = [&given.assume.revisions, &given.overrides.revisions];
    let by_user: Vec<&str> = named.into_iter().flatten().map(String::as_str).collect();
    if served.is_empty() || open.any(|open| open) {
        return Vec::new();
    }
    let is_served =
        |name: &str| served.iter().any(|(one, _)| *one == name) || by_user.contains(&name);
    let of_namespaces = scene.namespaces().filter_map(|namespace| {
        let entry = namespace.label(keys::REVISION)?;
        let is_read = namespace.label(keys::NAMESPACE_INJECTION).is_none();
        is_read.then_some((namespace, entry, Route::keys(&["metadata", "labels"])))
    });
    let of_pods = scene.pods().filter_map(|pod| {
        let entry = pod.workload.template.label(keys::REVISION)?;
        let object = &pod.workload.object;
        let namespace = context.namespace_object(object)?;
        let labels = [keys::NAMESPACE_INJECTION, keys::REVISION];
        let is_read = labels.iter().all(|key| namespace.label(key).is_none());
        let opted_out = pod.workload.template.label(keys::INJECT);
        let opted_out = opted_out.is_some_and(|entry| entry.value.text() == Some("false"));
        let route = pod
            .workload
            .template
            .within
            .child("metadata")
            .child("labels");
        (is_read && !opted_out).then_some((object, entry, route))
    });
    let labelled = of_namespaces.chain(of_pods);
    let unserved = labelled.filter(|(_, entry, _)| {
        let name = entry.value.text().unwrap_or_default();
        !name.is_empty() && !placeholder::contains(name) && !is_served(name)
    });
    unserved
        .map(|(object, entry, route)| report(object, entry, &route, &served))
        .collect()
}

fn report(
    object: &Object<'_>,
    entry: Entry<'_>,
    labels: &Route,
    served: &[(&str, &Label)],
) -> Finding {
    let name = entry.value.text().unwrap_or_default();
    let whom = match object.kind {
        "Namespace" => format!("the pods of namespace `{}` get", object.name()),
        kind => format!("{kind}/{} gets", object.name()),
    };
    let message =
        format!("{whom} no sidecar: no control plane of the tree answers to revision `{name}`");
    let mut finding = scene::about_object(&RULE, object, entry.value.span(), message);
    finding.field = Some(labels.child(keys::REVISION).to_string());
    for (served, place) in served.iter().take(SHOWN) {
        finding.related.push(Label {
            message: format!("answers to `{served}`"),
            ..(*place).clone()
        });
    }
    // Two releases are never slips of each other.
    let is_release = name.starts_with(|c: char| c.is_ascii_digit());
    let mut close = served.iter().filter(|(served, _)| is_close(name, served));
    let closest = close.next().filter(|_| !is_release);
    finding.help = Some(match closest {
        Some((closest, _)) => format!("did you mean `{closest}`?"),
        None => "name a revision or tag that is installed".to_owned(),
    });
    finding
}
