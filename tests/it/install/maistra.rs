//! Installations of OpenShift Service Mesh 2.

use super::*;

use meshprobe::mesh::istio::mtls::MtlsMode;

const PLANE: &str = "apiVersion: maistra.io/v2\nkind: ServiceMeshControlPlane\nmetadata: {name: basic, namespace: mesh}\nspec:\n  version: v2.6\n  security: {dataPlane: {mtls: true}}\n";

#[test]
fn a_service_mesh_control_plane_is_an_installation() {
    let install = one(PLANE);
    assert_eq!(install.carrier, Carrier::Maistra);
    assert_eq!(value(install.version.as_ref()), Some(Version::new(1, 20)));
    assert_eq!(value(install.mesh_mtls.as_ref()), Some(MtlsMode::Strict));
    assert_eq!(value(install.auto_inject.as_ref()), Some(false));
    assert_eq!(value(install.cni.as_ref()), Some(true));
    assert_eq!(value(install.root_namespace.as_ref()).unwrap(), "mesh");
    let old = one(&PLANE
        .replace("v2.6", "v2.0")
        .replace("mtls: true", "mtls: false"));
    assert_eq!(value(old.version.as_ref()), Some(Version::new(1, 6)));
    assert_eq!(value(old.mesh_mtls.as_ref()), Some(MtlsMode::Permissive));
}

#[test]
fn other_releases_and_settings_of_a_control_plane_are_assumptions() {
    let other = one(&PLANE.replace("v2.6", "v2.9"));
    assert_eq!(other.version.unwrap().certainty, Certainty::Assumed);
    let text = PLANE.replace(
        "  version",
        "  techPreview: {x: 1}\n  profiles: [default, custom]\n  version",
    );
    assert_eq!(one(&text).unread.len(), 2);
    let auto = PLANE.replace(
        "  version",
        "  proxy: {injection: {autoInject: true}}\n  version",
    );
    assert_eq!(value(one(&auto).auto_inject.as_ref()), Some(true));
    let first = PLANE.replace("maistra.io/v2", "maistra.io/v1");
    assert!(installs(&[("smcp.yaml", &first)]).is_empty());
}

#[test]
fn a_control_plane_that_the_api_server_rejects_states_no_settings() {
    let install = one(&PLANE.replace("mtls: true", "mtls: \"true\""));
    assert!(install.mesh_mtls.is_none());
    assert_eq!(install.version.unwrap().certainty, Certainty::Assumed);
    let place = install.unread[0].place.as_ref().unwrap();
    assert_eq!(
        place.message,
        "the API server rejects this object: `spec.security.dataPlane.mtls` is a string, expected a boolean"
    );
}
