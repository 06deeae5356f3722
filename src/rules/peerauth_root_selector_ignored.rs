//! Rule `peerauth-root-selector-ignored`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Reach;
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::{Object, PeerAuthentication};
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Route, Value};

declare_rule! {
    /// Finds PeerAuthentications with a selector in the root namespace.
    ///
    /// ## What it checks
    /// A `PeerAuthentication` with a `selector` in the root namespace of the mesh (usually
    /// `istio-system`).
    ///
    /// ## Why it matters
    /// In the root namespace only policies without selector count. One with a selector is for
    /// nobody: not for the workloads of other namespaces, and not even for those beside it. (An
    /// `AuthorizationPolicy` is different: there, a selector in the root namespace reaches the
    /// whole mesh.)
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: istio-system
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ```
    ///
    /// ## Fix safety
    /// Moving the policy is unsafe: it then takes effect. It is offered where workloads of just one
    /// other namespace carry the labels.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-root-selector-ignored", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    let ignored = policies.filter(|policy| scene.context.reach(policy) == Reach::Nobody);
    ignored.filter_map(|policy| report(scene, policy)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let selector = PeerAuthentication::of(policy).selector_entry()?;
    let root = scene.context.root_namespace_near(policy);
    let message = format!(
        "PeerAuthentication `{}` is ignored: in the root namespace `{}` a policy with a selector \
         is for nobody",
        policy.name(),
        root.value,
    );
    let mut finding = scene::about_object(&RULE, policy, selector.key.span(), message);
    finding.field = Some("spec.selector".to_owned());
    scene::mention(&mut finding, &root);
    let meant = meant(scene, policy);
    let mut namespaces: Vec<&str> = meant.iter().map(|(namespace, _)| *namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    if let Some((_, pod)) = meant.first() {
        let object = &pod.workload.object;
        let said = "these pods carry the labels";
        finding
            .related
            .push(object.label_at(object.name_span(), said));
    }
    let place = match namespaces.as_slice() {
        [only] => {
            finding.fix = Some(fix(policy, only));
            format!("`{only}`, the namespace of its workloads")
        }
        _ => "the namespace of its workloads".to_owned(),
    };
    finding.help = Some(format!(
        "move it to {place}; to speak for the whole mesh, drop the selector"
    ));
    Some(finding)
}

/// The workloads elsewhere that carry the labels.
fn meant<'s, 't>(
    scene: &Scene<'s, 't>,
    policy: &Object<'t>,
) -> Vec<(&'s str, &'s WorkloadPrediction<'t>)> {
    let selector = PeerAuthentication::of(policy).selector();
    let home = scene.context.namespace_of(policy).0;
    let pods = scene.reached_by(policy, Reach::Mesh).into_iter();
    pods.filter(|pod| selector.matches(pod.workload.template.labels()))
        .filter_map(|pod| Some((pod.namespace.as_deref()?, pod)))
        .filter(|(namespace, _)| *namespace != home)
        .collect()
}

fn fix(policy: &Object<'_>, namespace: &str) -> Fix {
    let route = policy.route.join(&Route::keys(&["metadata", "namespace"]));
    let change = Change::Set {
        route,
        value: Value::from(namespace),
    };
    let title = format!("move the policy to namespace `{namespace}`");
    scene::fix(policy, title, Applicability::Unsafe, vec![change])
}
