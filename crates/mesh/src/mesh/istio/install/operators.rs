//! The control planes that operators install: OpenShift Service Mesh, Sail and the IstioOperator.

use meshprobe_yaml::{FieldPath, NodeRef, Scalar};

use super::installation::{Carrier, Install, Part, Webhook};
use super::istiod;
use super::values::{Found, Layer, Typing, Values};
use super::version::of_tag;
use crate::finding::Label;
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
pub(super) fn read_maistra(object: &Object<'_>) -> Option<Install> {
    match object.kind {
        _ if admission::is_control_plane(object) => Some(mesh_control_plane(object)),
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

fn mesh_control_plane(object: &Object<'_>) -> Install {
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

/// Reads an object of the operator.
pub(super) fn read_sail(object: &Object<'_>) -> Option<Install> {
    match object.kind {
        "Istio" => Some(istio(object)),
        "IstioRevision" => {
            let mut install = sail_control_plane(object);
            install.revision = revision_of_name(object);
            Some(install)
        }
        "IstioRevisionTag" => tag(object),
        "IstioCNI" => Some(cni(object)),
        "ZTunnel" => {
            let mut install = Install::of(object, Carrier::Sail, Part::Cluster);
            let place = object.label_at(
                object.name_span(),
                "ztunnel, the node proxy of ambient mode, is installed here",
            );
            install.ambient = Some(Fact::known(true, place));
            Some(install)
        }
        _ => None,
    }
}

/// Returns the node at a path within `spec`.
/// Reads an `Istio`. `InPlace` names the revision after the object; `RevisionBased` adds the release.
fn istio(object: &Object<'_>) -> Install {
    let mut install = sail_control_plane(object);
    let strategy = spec(object, &["updateStrategy", "type"]).and_then(NodeRef::text);
    if strategy != Some("RevisionBased") {
        install.revision = revision_of_name(object);
        return install;
    }
    let version = spec(object, &["version"]);
    let text = version.and_then(NodeRef::text).unwrap_or_default();
    let name = format!("{}-{}", object.name(), text.replace('.', "-"));
    let span = version.map_or_else(|| object.name_span(), NodeRef::span);
    let is_exact = text.split('.').count() == 3 && !text.ends_with("-latest");
    if is_exact {
        let message = format!("revision `{name}` is served here");
        install.revision = Some(Fact::known(name, object.label_at(span, message)));
    } else {
        let message = "the operator names the revision after the release that it selects";
        let place = object.label_at(span, message);
        install.more_names = Some(Reason::written(place.clone()));
        install.revision = Some(Fact::known(name, place));
    }
    install
}

/// Returns the revision with the name of the object; the name `default` means the revision without a name.
fn revision_of_name(object: &Object<'_>) -> Option<Fact<String>> {
    let name = object.name();
    let message = format!("revision `{name}` is served here");
    let fact = Fact::known(
        name.to_owned(),
        object.label_at(object.name_span(), message),
    );
    (name != "default").then_some(fact)
}

fn sail_control_plane(object: &Object<'_>) -> Install {
    let mut install = Install::of(object, Carrier::Sail, Part::ControlPlane);
    let path = object.path();
    install.version = spec(object, &["version"]).and_then(|node| {
        let version = of_tag(node.text()?)?;
        let message = format!("the operator installs Istio {version}");
        Some(Fact::known(version, object.label_at(node.span(), message)))
    });
    let whole = spec(object, &["values"]).map(|node| Layer::file(node, path));
    let single = |key: &'static str, target: &str| {
        Some(Layer::file(spec(object, &[key])?, path).set(target, Typing::Text))
    };
    let layers = [
        whole,
        single("profile", "profile"),
        single("namespace", "global.istioNamespace"),
    ];
    let values = Values {
        layers: layers.into_iter().flatten().collect(),
    };
    istiod::read_into(&mut install, &values);
    // The operator sets the revision itself, from the name of the object.
    install.revision = None;
    install.more_names = None;
    install
}

fn tag(object: &Object<'_>) -> Option<Install> {
    let target = spec(object, &["targetRef"])?;
    let text = |key: &str| target.get(key).and_then(NodeRef::text).map(str::to_owned);
    let part = Part::Tags {
        kind: text("kind")?,
        name: text("name")?,
    };
    let mut install = Install::of(object, Carrier::Sail, part);
    let message = format!("tag `{}` is served here", object.name());
    let place = object.label_at(object.name_span(), message);
    install
        .tags
        .push(Fact::known(object.name().to_owned(), place));
    Some(install)
}

fn cni(object: &Object<'_>) -> Install {
    let mut install = Install::of(object, Carrier::Sail, Part::Cluster);
    let path = object.path();
    let whole = spec(object, &["values"]).map(|node| Layer::file(node, path));
    let profile = spec(object, &["profile"]);
    let profile = profile.map(|node| Layer::file(node, path).set("profile", Typing::Text));
    let values = Values {
        layers: [whole, profile].into_iter().flatten().collect(),
    };
    istiod::read_cni_into(&mut install, &values);
    let name = object.node.get("kind").unwrap_or(object.node);
    install.cni = Some(cni_plugin_installed(object.label_at(name.span(), "")));
    install
}

/// Returns whether the CNI plugin sets up traffic capture, given where it is installed. This is assumed, because istiod
/// must be configured to leave the capture to it.
pub(super) fn cni_plugin_installed(place: Label) -> Fact<bool> {
    let message = "the CNI plugin is installed here".to_owned();
    let installed = Fact::known(true, Label { message, ..place });
    let message = "istiod leaves traffic capture to the CNI plugin (`pilot.cni.enabled`)";
    installed.depending_on(&Fact::assumed(
        (),
        message,
        Some("--override cni=true|false"),
    ))
}

/// Reads an `IstioOperator`. Without the component `pilot` (a file for gateways only), it describes
/// at most components that serve the whole cluster.
pub(super) fn read_operator(object: &Object<'_>) -> Option<Install> {
    let spec = object.node.get("spec");
    let part = if has_pilot(spec) {
        Part::ControlPlane
    } else {
        Part::Cluster
    };
    let mut install = Install::of(object, Carrier::IstioOperator, part);
    let Some(spec) = spec else {
        return Some(install);
    };
    let values = values(object, spec);
    let tag = at(spec, &["components", "pilot", "tag"]).map(|node| Found::of(node, object.path()));
    let tag = tag.and_then(|tag| {
        let version = of_tag(tag.string()?)?;
        Some(Fact::known(
            version,
            tag.label(format!("the image is from Istio {version}")),
        ))
    });
    install.version = tag;
    istiod::read_into(&mut install, &values);
    install.cni = install.cni.or_else(|| component(object, spec, "cni"));
    install.ambient = install
        .ambient
        .or_else(|| component(object, spec, "ztunnel"));
    install.cni_excluded = istiod::excluded_namespaces(&values);
    let has_facts =
        install.part == Part::ControlPlane || install.cni.is_some() || install.ambient.is_some();
    has_facts.then_some(install)
}

fn values<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Values<'t> {
    let path = object.path();
    let single = |keys: &[&'static str], target: &str| {
        Some(Layer::file(at(spec, keys)?, path).set(target, Typing::Text))
    };
    let whole = |key: &str, mount: &[&str]| Some(Layer::file(spec.get(key)?, path).mounted(mount));
    // The strongest first: the fields of the API itself, then values, then the fields that set defaults for values.
    let first = [
        whole("meshConfig", &["meshConfig"]),
        single(&["revision"], "revision"),
        single(&["profile"], "profile"),
        single(&["compatibilityVersion"], "compatibilityVersion"),
    ];
    let last = [
        whole("values", &[]),
        whole("unvalidatedValues", &[]),
        single(&["tag"], "global.tag"),
        single(&["namespace"], "global.istioNamespace"),
    ];
    let layers = first.into_iter().flatten().chain(environment(object, spec));
    Values {
        layers: layers.chain(last.into_iter().flatten()).collect(),
    }
}

/// Reads `components.pilot.k8s.env`, which changes the Deployment itself and is therefore stronger than values.
fn environment<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Vec<Layer<'t>> {
    let list = at(spec, &["components", "pilot", "k8s", "env"]);
    list.into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| {
            let name = item.get("name")?.text()?;
            let layer = Layer::file(item.get("value")?, object.path());
            Some(layer.set(&format!("pilot.env.{name}"), Typing::Text))
        })
        .collect()
}

/// Returns whether the component `pilot` is installed. The profile `empty` has no components; `remote` and `external`
/// install webhooks.
fn has_pilot(spec: Option<NodeRef<'_>>) -> bool {
    let Some(spec) = spec else { return true };
    let enabled = at(spec, &["components", "pilot", "enabled"]).and_then(NodeRef::scalar);
    match enabled {
        Some(Scalar::Bool(enabled)) => enabled,
        _ => spec.get("profile").and_then(NodeRef::text) != Some("empty"),
    }
}

fn component(object: &Object<'_>, spec: NodeRef<'_>, name: &'static str) -> Option<Fact<bool>> {
    let found = Found::of(at(spec, &["components", name, "enabled"])?, object.path());
    let value = found.boolean()?;
    let message = format!("component `{name}` is {}", if value { "on" } else { "off" });
    Some(Fact::known(value, found.label(message)))
}

fn at<'t>(node: NodeRef<'t>, keys: &[&'static str]) -> Option<NodeRef<'t>> {
    node.at(&FieldPath::keys(keys))
}
