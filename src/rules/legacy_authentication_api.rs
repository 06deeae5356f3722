//! Rule `legacy-authentication-api`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::{Object, integer};
use crate::mesh::Version;
use crate::yaml::{Change, Entry, NodeRef, Route, Value};

declare_rule! {
    /// Finds authentication policies that no release of Istio reads any more.
    ///
    /// ## What it checks
    /// A `MeshPolicy` or `Policy` of `authentication.istio.io`, unless the mesh is known to be
    /// older than 1.6.
    ///
    /// ## Why it matters
    /// Istio 1.6 dropped this API. Where its definition is still in the cluster the object is
    /// accepted, and nothing comes of it: no mutual TLS is in force, while the file says that it
    /// is.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: authentication.istio.io/v1alpha1
    /// kind: MeshPolicy
    /// metadata:
    ///   name: default
    /// spec:
    ///   peers:
    ///     - mtls: {}
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: istio-system
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: the new policy takes effect at once, and may be too strict for some client. It is
    /// offered for policies that speak of mutual TLS only and name one Service of the tree at most;
    /// ports of the Service become `portLevelMtls` for the ports of its pods. Comments within `spec`
    /// would be lost, so there the fix is only shown.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio reference: "PeerAuthentication"
    "legacy-authentication-api", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.legacy_policies.iter();
    policies
        .filter(|_| scene.may_have_mesh())
        .filter_map(|policy| report(scene, policy))
        .collect()
}

fn report<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let release = scene.context.version_near(policy);
    let is_read = release.is_some_and(|release| release < Version::new(1, 6));
    if is_read || !matches!(policy.kind, "MeshPolicy" | "Policy") {
        return None;
    }
    let message = format!(
        "{} `{}` is read by no Istio since 1.6: no mutual TLS is in force from it",
        policy.kind,
        policy.name(),
    );
    let span = policy
        .node
        .get("apiVersion")
        .map_or_else(|| policy.name_span(), NodeRef::span);
    let mut finding = scene::about_object(&RULE, policy, span, message);
    finding.field = Some("apiVersion".to_owned());
    let place = if policy.kind == "MeshPolicy" {
        let root = scene.context.root_namespace_near(policy).value;
        format!("in the root namespace `{root}`")
    } else {
        "in its place".to_owned()
    };
    finding.help = Some(format!(
        "write a PeerAuthentication of security.istio.io {place}"
    ));
    finding.fix = conversion(scene, policy);
    Some(finding)
}

fn conversion<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Option<Fix> {
    let spec = policy.node.get("spec")?;
    let known = |entry: Entry<'_>| matches!(entry.key.text(), Some("peers" | "targets"));
    let mode =
        mode(spec.get("peers")?).filter(|_| spec.effective_entries().into_iter().all(known))?;
    let mode = map("mode", Value::from(mode));
    let mut changes = vec![
        set(policy, &["apiVersion"], Value::from("security.istio.io/v1")),
        set(policy, &["kind"], Value::from("PeerAuthentication")),
    ];
    let new = match spec.get("targets") {
        None if policy.kind == "MeshPolicy" => {
            let root = scene.context.root_namespace_near(policy).value;
            changes.push(set(policy, &["metadata", "namespace"], Value::Str(root)));
            map("mtls", mode)
        }
        None => map("mtls", mode),
        Some(targets) => of_target(scene, policy, targets, mode)?,
    };
    changes.push(set(policy, &["spec"], new));
    let degree = if spec.source().contains('#') {
        Applicability::DisplayOnly
    } else {
        Applicability::Unsafe
    };
    let title = "write it as a PeerAuthentication";
    Some(scene::fix(policy, title, degree, changes))
}

/// The mode of a list of peers that holds `mtls` and nothing else.
fn mode(peers: NodeRef<'_>) -> Option<&'static str> {
    let mut items = peers.items();
    let (peer, None) = (items.next()?, items.next()) else {
        return None;
    };
    let mut methods = peer.effective_entries().into_iter();
    let (method, None) = (methods.next()?, methods.next()) else {
        return None;
    };
    let only_mode = |entry: Entry<'_>| entry.key.text() == Some("mode");
    let settings = method.value.effective_entries();
    if method.key.text() != Some("mtls") || !settings.into_iter().all(only_mode) {
        return None;
    }
    match method.value.get("mode").map(NodeRef::text) {
        None => Some("STRICT"),
        Some(Some("STRICT")) => Some("STRICT"),
        Some(Some("PERMISSIVE")) => Some("PERMISSIVE"),
        Some(_) => None,
    }
}

/// What a policy for one Service becomes: its pods, and the ports that its ports lead to.
fn of_target<'t>(
    scene: &Scene<'_, 't>,
    policy: &Object<'t>,
    targets: NodeRef<'t>,
    mode: Value,
) -> Option<Value> {
    let mut items = targets.items();
    let (target, None) = (items.next()?, items.next()) else {
        return None;
    };
    let name = target.get("name")?.text()?;
    let context = scene.context;
    let mut services = context.inventory.services.iter();
    let home = context.namespace_of(policy).0;
    let service = services.find(|one| one.name() == name && context.namespace_of(one).0 == home)?;
    let selector = service.node.get("spec")?.get("selector")?;
    let labels: Option<Vec<(String, Value)>> = selector
        .effective_entries()
        .into_iter()
        .map(|label| {
            Some((
                label.key.text()?.to_owned(),
                Value::from(label.value.text()?),
            ))
        })
        .collect();
    let mut spec = vec![(
        "selector".to_owned(),
        map("matchLabels", Value::Map(labels?)),
    )];
    let Some(ports) = target.get("ports") else {
        spec.push(("mtls".to_owned(), mode));
        return Some(Value::Map(spec));
    };
    let ports: Option<Vec<(String, Value)>> = ports
        .items()
        .map(|port| {
            let number = integer(port.get("number")?)?;
            let behind = scene.pods_behind(service, number);
            let (_, target) = behind.first()?;
            Some((target.to_string(), mode.clone()))
        })
        .collect();
    spec.push(("portLevelMtls".to_owned(), Value::Map(ports?)));
    Some(Value::Map(spec))
}

fn set(policy: &Object<'_>, path: &[&'static str], value: Value) -> Change {
    Change::Set {
        route: policy.route.join(&Route::keys(path)),
        value,
    }
}

fn map(key: &str, value: Value) -> Value {
    Value::Map(vec![(key.to_owned(), value)])
}
