//! Rule `vm-https-verified`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::predict;

declare_rule! {
    /// Finds HTTPS checks of virtual machines, whose certificate is verified.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` with the scheme `HTTPS`, unless the mesh is known to be older
    /// than 1.24.
    ///
    /// ## Why it matters
    /// The kubelet verifies no certificate, and neither did the agent up to 1.23. Since 1.24 it
    /// does: the release that added gRPC checks compares the scheme in the wrong case. A self-
    /// signed certificate fails with `x509: certificate signed by unknown authority`, and the
    /// machine never becomes healthy.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.28
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   template:
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       port: 8443
    ///       scheme: HTTPS
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.28
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   template:
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     exec:
    ///       command: [curl, -fks, "https://127.0.0.1:8443/"]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the exec check needs curl on the machine, and a port without TLS
    /// is yours to open.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio documentation: "Virtual Machine Installation"
    "vm-https-verified", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(scene);
    groups.filter_map(|group| report(scene, group)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let probe = workload_group::probe(group)?;
    let (_, entry) = vm::kept(probe.value)?;
    let scheme = entry.value.get("scheme")?;
    predict::verified(scene.context, group)?;
    let message = format!(
        "the probe of {} fails unless the machine trusts the certificate: agents since {} verify it \
         (`x509: certificate signed by unknown authority`)",
        workload_group::title(group),
        vm::HTTPS_VERIFIED_SINCE,
    );
    let mut finding = scene::about_object(&RULE, group, scheme.span(), message);
    finding.field = Some("spec.probe.httpGet.scheme".to_owned());
    finding.help = Some(
        "check a port without TLS, run `curl -fks` by exec, or have the machine trust the issuer"
            .to_owned(),
    );
    if scene.context.version_near(group).is_none() {
        scene::rest_on_fact(&mut finding, &predict::unknown_release());
    }
    Some(finding)
}
