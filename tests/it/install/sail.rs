//! Installations with the Sail operator.

use super::*;

#[test]
fn an_in_place_update_of_the_sail_operator_is_an_installation() {
    let text = "apiVersion: sailoperator.io/v1\nkind: Istio\nmetadata: {name: default}\nspec:\n  version: v1.26-latest\n  namespace: mesh\n  values:\n    sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n    meshConfig: {defaultConfig: {statusPort: 15555}}\n";
    let install = one(text);
    assert_eq!(install.carrier, Carrier::Sail);
    assert!(install.is_default());
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    assert_eq!(value(install.mesh_status_port.as_ref()), Some(15555));
    assert_eq!(value(install.root_namespace.as_ref()).unwrap(), "mesh");
    let named = one(&text.replace("name: default", "name: blue"));
    assert_eq!(named.revision_name(), "blue");
    assert!(!named.is_default());
}

#[test]
fn a_revision_based_update_of_the_sail_operator_is_an_installation() {
    let text = "apiVersion: sailoperator.io/v1\nkind: Istio\nmetadata: {name: default}\nspec:\n  version: v1.26.3\n  updateStrategy: {type: RevisionBased}\n";
    let install = one(text);
    assert_eq!(install.revision_name(), "default-v1-26-3");
    assert!(!install.is_default());
    let latest = one(&text.replace("v1.26.3", "v1.26-latest"));
    assert!(
        latest.more_names.is_some(),
        "the operator selects the patch release"
    );
    let revision = one(
        "apiVersion: sailoperator.io/v1\nkind: IstioRevision\nmetadata: {name: blue}\nspec: {version: v1.26.3, namespace: istio-system, values: {revision: blue}}\n",
    );
    assert_eq!(revision.revision_name(), "blue");
}

#[test]
fn tags_and_cluster_facts_of_the_sail_operator_are_read() {
    let tag = one(
        "apiVersion: sailoperator.io/v1\nkind: IstioRevisionTag\nmetadata: {name: prod}\nspec: {targetRef: {kind: Istio, name: default}}\n",
    );
    let target = Part::Tags {
        kind: "Istio".into(),
        name: "default".into(),
    };
    assert_eq!(tag.part, target);
    assert_eq!(tag.names().collect::<Vec<_>>(), ["prod"]);
    assert!(!tag.is_default());
    let cni = one(
        "apiVersion: sailoperator.io/v1\nkind: IstioCNI\nmetadata: {name: default}\nspec: {version: v1.26.3, profile: ambient}\n",
    );
    assert_eq!(cni.part, Part::Cluster);
    assert_eq!(value(cni.ambient.as_ref()), Some(true));
    assert_eq!(value(cni.cni.as_ref()), Some(true));
    let ztunnel =
        one("apiVersion: sailoperator.io/v1\nkind: ZTunnel\nmetadata: {name: default}\nspec: {}\n");
    assert_eq!(value(ztunnel.ambient.as_ref()), Some(true));
}
