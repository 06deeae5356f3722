//! OpenShift Service Mesh 2 (`maistra.io/v2`): `ServiceMeshControlPlane`, and the objects that state its members.
//!
//! Sources: the documentation of OpenShift Service Mesh 2.x, "Automatic sidecar injection" (pods need the annotation
//! `sidecar.istio.io/inject: "true"`), "Enabling strict mTLS across the service mesh", "Adding services to a service mesh"
//! and the component versions in the release notes of 2.0 to 2.6 (2.4: openshift-docs#89268, 2.6: "Introducing OpenShift
//! Service Mesh 2.6"). The webhooks select namespaces with the label `maistra.io/member-of`, which the operator sets.

use meshprobe_yaml::{FieldPath, NodeRef, Scalar};

use super::installation::Install;
use super::installation::Webhook;
use super::installation::{Carrier, Part};
use crate::kube::{Object, Requirements};
use crate::mesh::istio::admission;
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::{Fact, Reason, Version};

/// The API group.
pub(super) const GROUP: &str = "maistra.io";
/// Label of Namespaces that the operator sets: the namespace of the control plane.
pub const MEMBER_OF: &str = "maistra.io/member-of";

/// The latest release of Istio in OpenShift Service Mesh 2 (2.6).
const LATEST: Version = Version::new(1, 20);

/// The releases of Istio in OpenShift Service Mesh 2.0 to 2.6.
const RELEASES: [(&str, Version); 7] = [
    ("v2.0", Version::new(1, 6)),
    ("v2.1", Version::new(1, 9)),
    ("v2.2", Version::new(1, 12)),
    ("v2.3", Version::new(1, 14)),
    ("v2.4", Version::new(1, 16)),
    ("v2.5", Version::new(1, 18)),
    ("v2.6", LATEST),
];

/// The profiles that the operator contains; they do not set values that matter for probes.
const KNOWN_PROFILES: [&str; 3] = ["default", "maistra", "small"];

/// Returns whether an object states which namespaces are members.
pub fn states_members(object: &Object<'_>) -> bool {
    object.group() == GROUP && matches!(object.kind, "ServiceMeshMemberRoll" | "ServiceMeshMember")
}

/// Reads an object of the group. An object that states members implies a control plane, which applies if the tree
/// contains none.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    match object.kind {
        _ if admission::is_control_plane(object) => Some(control_plane(object)),
        "ServiceMeshMemberRoll" => Some(implied(object, object.namespace())),
        "ServiceMeshMember" => {
            let namespace = spec(object, &["controlPlaneRef", "namespace"]);
            Some(implied(object, namespace.and_then(NodeRef::text)))
        }
        _ => None,
    }
}

/// Returns the control plane that an object about members implies.
fn implied(object: &Object<'_>, namespace: Option<&str>) -> Install {
    let mut install = with_webhook(object, Carrier::MaistraMembers, namespace);
    install.version = Some(assumed_release());
    install
}

fn control_plane(object: &Object<'_>) -> Install {
    let mut install = with_webhook(object, Carrier::Maistra, object.namespace());
    install.root_namespace = object.namespace().map(|namespace| {
        let message = format!("the root namespace is that of the control plane, `{namespace}`");
        Fact::known(
            namespace.to_owned(),
            object.label_at(object.name_span(), message),
        )
    });
    if let Some(rejection) = admission::control_plane(object).into_iter().next() {
        let message = format!(
            "the API server rejects this object: `{}` {}",
            rejection.route, rejection.reason
        );
        install.version = Some(assumed_release());
        let place = object.label_at(rejection.span, message);
        install.unread.push(Reason::written(place));
        return install;
    }
    read_settings(object, &mut install);
    install
}

/// Reads the settings of a control plane that the API server accepts.
fn read_settings(object: &Object<'_>, install: &mut Install) {
    install.version = Some(release(object).unwrap_or_else(assumed_release));
    if let Some((node, value)) = boolean(object, &["security", "dataPlane", "mtls"]) {
        let mode = if value {
            MtlsMode::Strict
        } else {
            MtlsMode::Permissive
        };
        let message = format!("{} for the whole mesh", mode.as_str());
        install.mesh_mtls = Some(Fact::known(mode, object.label_at(node.span(), message)));
    }
    if let Some((node, value)) = boolean(object, &["proxy", "injection", "autoInject"]) {
        let does = if value { "are" } else { "are not" };
        let message = format!("pods without an annotation {does} injected");
        install.auto_inject = Some(Fact::known(value, object.label_at(node.span(), message)));
    }
    install.unread = unread(object);
}

/// Returns an installation whose webhook selects the members of the mesh of a namespace; those of any mesh if that
/// namespace is not written. It sets up traffic capture with the CNI plugin.
fn with_webhook(object: &Object<'_>, carrier: Carrier, namespace: Option<&str>) -> Install {
    let mut install = Install::of(object, carrier, Part::ControlPlane);
    let place = |message: &str| object.label_at(object.name_span(), message);
    install.webhooks.push(Webhook {
        name: "sidecar-injector.istio.io".to_owned(),
        tag: None,
        namespaces: Requirements::of_label(MEMBER_OF, namespace),
        objects: Requirements::default(),
        place: place("OpenShift Service Mesh injects the members of its mesh"),
        unevaluated: None,
    });
    let by_annotation =
        "OpenShift Service Mesh only injects pods with `sidecar.istio.io/inject: \"true\"`";
    install.auto_inject = Some(Fact::known(false, place(by_annotation)));
    let cni = "OpenShift Service Mesh captures traffic with its CNI plugin";
    install.cni = Some(Fact::known(true, place(cni)));
    install
}

/// Reads `spec.version`.
fn release(object: &Object<'_>) -> Option<Fact<Version>> {
    let node = spec(object, &["version"])?;
    let text = node.text()?;
    let (name, version) = RELEASES.into_iter().find(|(name, _)| *name == text)?;
    let message = format!(
        "OpenShift Service Mesh {} contains Istio {version}",
        name.trim_start_matches('v')
    );
    Some(Fact::known(version, object.label_at(node.span(), message)))
}

/// Returns the release that applies if no control plane names one.
fn assumed_release() -> Fact<Version> {
    let message =
        format!("the release of OpenShift Service Mesh is 2.6, which contains Istio {LATEST}");
    Fact::assumed(LATEST, message, Some("--mesh-version 1.NN"))
}

/// Returns the settings that may change the defaults and are not evaluated.
fn unread(object: &Object<'_>) -> Vec<Reason> {
    let preview = spec(object, &["techPreview"]);
    let preview = preview.map(|node| (node, "`techPreview` is not evaluated"));
    let profiles = spec(object, &["profiles"])
        .into_iter()
        .flat_map(NodeRef::items);
    let unknown = profiles
        .filter(|profile| {
            !profile
                .text()
                .is_some_and(|name| KNOWN_PROFILES.contains(&name))
        })
        .map(|profile| (profile, "this profile is not evaluated"));
    let reasons = preview.into_iter().chain(unknown);
    reasons
        .map(|(node, message)| Reason::written(object.label_at(node.span(), message)))
        .collect()
}

/// Returns a boolean in `spec`, with its node.
fn boolean<'t>(object: &Object<'t>, keys: &[&'static str]) -> Option<(NodeRef<'t>, bool)> {
    let node = spec(object, keys)?;
    match node.scalar()? {
        Scalar::Bool(value) => Some((node, value)),
        _ => None,
    }
}

/// Returns the node at a path within `spec`.
fn spec<'t>(object: &Object<'t>, keys: &[&'static str]) -> Option<NodeRef<'t>> {
    object.node.get("spec")?.at(&FieldPath::keys(keys))
}
