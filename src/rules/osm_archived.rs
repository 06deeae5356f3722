//! Rule `osm-archived`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::osm::MONITORED;

declare_rule! {
    /// Tells that Open Service Mesh is no longer maintained.
    ///
    /// ## What it checks
    /// Any Namespace that OSM monitors; said once in a run, at the first of them.
    ///
    /// ## Why it matters
    /// The repository was archived in July 2023. Faults that this tool reports will not be mended,
    /// and what Kubernetes has added since is unknown to the webhook.
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
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     istio-injection: enabled
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: moving to another mesh is a project.
    ///
    /// ## References
    /// - github.com/openservicemesh/osm, archived
    "osm-archived", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let monitored = scene.namespaces().filter_map(|namespace| {
        let entry = namespace.label(MONITORED)?;
        let label = namespace.label_at(entry.key.span(), String::new());
        Some((label.path, label.span, namespace, entry))
    });
    let first = monitored.min_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let finding = first.map(|(_, _, namespace, entry)| {
        let message = "Open Service Mesh was archived in July 2023: nothing is mended any more";
        let span = entry.key.span();
        let mut finding = scene::about_object(&RULE, namespace, span, message.to_owned());
        finding.help = Some("plan the way to a mesh that is maintained".to_owned());
        finding
    });
    finding.into_iter().collect()
}
