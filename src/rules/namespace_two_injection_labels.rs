//! Rule `namespace-two-injection-labels`.

use super::pod_key::has_comment;
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::source::placeholder;
use crate::yaml::{Change, Route};

declare_rule! {
    /// Finds Namespaces whose revision is ignored because they carry two injection labels.
    ///
    /// ## What it checks
    /// A Namespace with both `istio-injection` and `istio.io/rev`. Both `enabled` and `default` ask
    /// for the same and are left alone.
    ///
    /// ## Why it matters
    /// The webhooks of a revision look only at namespaces without `istio-injection`. With `enabled`
    /// the default control plane injects instead of the named revision, or nobody where there is
    /// none; with any other value nobody injects, which is a warning only: it may be on purpose.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    ///     istio.io/rev: canary
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/rev: canary
    /// ```
    ///
    /// ## Fix safety
    /// Removing `istio-injection: enabled` is unsafe: another control plane injects from then on.
    ///
    /// ## References
    /// - Istio documentation: "Installing the Sidecar"
    /// - Istio documentation: "Canary Upgrades"
    "namespace-two-injection-labels", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    scene.namespaces().filter_map(report).collect()
}

fn report(namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION)?;
    let revision = namespace.label(keys::REVISION)?;
    let (word, name) = (injection.value.text()?, revision.value.text()?);
    let is_open = placeholder::contains(word) || placeholder::contains(name);
    let enabled = word == "enabled";
    if is_open || name.is_empty() || (enabled && name == "default") {
        return None;
    }
    let instead = if enabled {
        "the default control plane injects instead, if there is one"
    } else {
        "nobody injects"
    };
    let message = format!(
        "namespace `{}` asks for revision `{name}` in vain: `{}={word}` beats it, so that {instead}",
        namespace.name(),
        keys::NAMESPACE_INJECTION,
    );
    let mut finding = scene::about_object(&RULE, namespace, revision.value.span(), message);
    if !enabled {
        // Switched off on purpose, as it may be.
        finding.severity = finding.severity.lowered();
    }
    let labels = Route::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(keys::REVISION).to_string());
    let said = "with this label no revision is looked at";
    let place = namespace.label_at(injection.value.span(), said);
    finding.related.push(place);
    finding.help = Some("keep one of the two labels".to_owned());
    finding.fix = enabled.then(|| {
        let degree = if has_comment(injection) {
            Applicability::DisplayOnly
        } else {
            Applicability::Unsafe
        };
        let route = namespace
            .route
            .join(&labels)
            .child(keys::NAMESPACE_INJECTION);
        let title = format!(
            "remove `{}`: the revision then holds",
            keys::NAMESPACE_INJECTION
        );
        scene::fix(namespace, title, degree, vec![Change::Remove { route }])
    });
    Some(finding)
}
