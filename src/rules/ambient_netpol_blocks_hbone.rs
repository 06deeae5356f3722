//! Rule `ambient-netpol-blocks-hbone`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{Dataplane, IngressRule, Reach, isolates};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::yaml::{Change, Entry, Route, Value};

declare_rule! {
    /// Finds NetworkPolicies that name ports of ambient pods and leave out the tunnel of the mesh.
    ///
    /// ## What it checks
    /// A `NetworkPolicy` that isolates pods in ambient mode and admits clients of the cluster to
    /// some ports, where no policy admits anyone to port 15008 of these pods.
    ///
    /// ## Why it matters
    /// Between ambient pods all traffic arrives on port 15008 (HBONE), whatever port the client
    /// asked for. A policy that names the port of the application alone drops all traffic of the
    /// mesh, while plain clients get through.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: networking.k8s.io/v1
    /// kind: NetworkPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   podSelector: {}
    ///   ingress:
    ///     - ports:
    ///         - port: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
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
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: networking.k8s.io/v1
    /// kind: NetworkPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   podSelector: {}
    ///   ingress:
    ///     - ports:
    ///         - port: 8080
    ///         - port: 15008
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// Admitting 15008 is unsafe: it opens all ports of the application to clients of the mesh.
    /// There is no fix where a YAML merge key brings the ports in.
    ///
    /// ## References
    /// - Istio documentation: "Ambient and Kubernetes NetworkPolicy"
    "ambient-netpol-blocks-hbone", Warning, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.network_policies.iter();
    let mut findings = Vec::new();
    for policy in policies {
        let rules: Vec<_> = IngressRule::all_of(policy).collect();
        let narrow = rules.iter().enumerate().find_map(|(index, rule)| {
            Some((index, rule.ports().filter(|_| is_for_clients(*rule))?))
        });
        if let Some((index, ports)) = narrow {
            findings.extend(report(scene, policy, index, ports));
        }
    }
    findings
}

/// Blocks of addresses are for what is not in the mesh.
fn is_for_clients(rule: IngressRule<'_>) -> bool {
    let mut peers = rule.peers().peekable();
    peers.peek().is_none() || peers.any(|peer| peer.get("ipBlock").is_none())
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    policy: &Object<'t>,
    index: usize,
    ports: Entry<'t>,
) -> Option<Finding> {
    let context = scene.context;
    let ambient = scene
        .beside(policy)
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient);
    let mut isolated = ambient.filter(|pod| {
        context.reaches(policy, Reach::Namespace, &pod.workload) && isolates(policy, &pod.workload)
    });
    let pod = isolated.find(|pod| {
        let isolating = context.isolating(&pod.workload).into_iter();
        let mut rules = isolating.flat_map(IngressRule::all_of);
        !rules.any(|rule| rule.admits_port(&pod.workload, keys::HBONE_PORT))
    })?;
    let message = format!(
        "traffic of the mesh to {} is dropped: it arrives on port {}, and NetworkPolicy `{}` admits \
         other ports only",
        pod.workload.title(),
        keys::HBONE_PORT,
        policy.name(),
    );
    let mut finding = scene::about_object(&RULE, policy, ports.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].ports"));
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let object = &pod.workload.object;
    let said = "a pod in ambient mode";
    finding
        .related
        .push(object.label_at(object.name_span(), said));
    finding.help = Some(format!("admit port {} as well", keys::HBONE_PORT));
    let value = vec![("port".to_owned(), Value::from(keys::HBONE_PORT))];
    let route = Route::keys(&["spec", "ingress"])
        .child(index)
        .child("ports");
    let change = Change::Push {
        route: policy.route.join(&route),
        value: Value::Map(value),
    };
    let title = format!("admit port {}", keys::HBONE_PORT);
    finding.fix =
        (!ports.merged).then(|| scene::fix(policy, title, Applicability::Unsafe, vec![change]));
    Some(finding)
}
