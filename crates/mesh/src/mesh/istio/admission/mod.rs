//! The admission of Istio's own policies: the schemas with which the API server validates them, and the validation of
//! istiod's webhook.
//!
//! Source: Istio 1.31, `manifests/charts/base/files/crd-all.gen.yaml`, `pkg/config/validation/validation.go` and
//! `pkg/config/security/security.go`. `tests/oracle/istio.sh` compares them.

mod authorization_policy;
mod authorization_values;
mod schema;

use meshprobe_yaml::FieldPath;
use schema::{Reader, Schema};

use crate::kube::Object;
use crate::mesh::Version;

pub use schema::Rejection;

/// Returns why a PeerAuthentication cannot be created, in the order of its fields. A mode that does not exist and ports
/// without a selector are reported by rules of their own.
#[must_use]
pub fn peer_authentication(policy: &Object<'_>) -> Vec<Rejection> {
    against(policy, &schema::PEER_AUTHENTICATION)
}

/// Returns why an AuthorizationPolicy cannot be created. `release` is the release of the control plane, if known.
#[must_use]
pub fn authorization_policy(policy: &Object<'_>, release: Option<Version>) -> Vec<Rejection> {
    let rejections = against(policy, &authorization_values::AUTHORIZATION_POLICY);
    // The webhook is called for objects that match the schema.
    if rejections.is_empty() {
        authorization_policy::rejections(policy, release)
    } else {
        rejections
    }
}

/// Returns whether an object is a control plane of OpenShift Service Mesh 2.
pub fn is_control_plane(object: &Object<'_>) -> bool {
    object.kind == "ServiceMeshControlPlane" && object.api_version == "maistra.io/v2"
}

/// Returns why a control plane of OpenShift Service Mesh 2 cannot be created, in the order of its fields.
#[must_use]
pub fn control_plane(plane: &Object<'_>) -> Vec<Rejection> {
    against(plane, &schema::CONTROL_PLANE)
}

/// Returns why a WorkloadGroup cannot be created because of its metadata or its template.
#[must_use]
pub(crate) fn workload_template(group: &Object<'_>) -> Vec<Rejection> {
    against(group, &schema::WORKLOAD_GROUP)
}

/// Returns why istioctl cannot read the metadata or the template of a WorkloadGroup. It reads without schemas.
#[must_use]
pub(crate) fn unreadable_template(group: &Object<'_>) -> Option<Rejection> {
    let found = read(group, &schema::WORKLOAD_GROUP, Reader::Istioctl);
    found.into_iter().next()
}

fn against(object: &Object<'_>, spec: &'static Schema) -> Vec<Rejection> {
    read(object, spec, Reader::ApiServer)
}

fn read(object: &Object<'_>, spec: &'static Schema, reader: Reader) -> Vec<Rejection> {
    let route = FieldPath::keys(&["spec"]);
    let node = object.node.get_set("spec");
    node.map_or_else(Vec::new, |node| reader.rejections(node, spec, &route))
}
