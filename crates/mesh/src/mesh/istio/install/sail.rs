//! The Sail operator: `Istio`, `IstioRevision`, `IstioRevisionTag`, `IstioCNI`, `ZTunnel`.
//!
//! Source: Sail operator 1.26, `api/v1/istio_types.go`, `istiorevision_types.go`,
//! `istiorevisiontags_types.go`, `pkg/revision/name.go`.

use meshprobe_yaml::{FieldPath, NodeRef};

use super::installation::Install;
use super::installation::{Carrier, Part};
use super::istiod;
use super::values::Layer;
use super::values::Values;
use super::values::{Found, Typing};
use super::version::of_tag;
use crate::kube::Object;
use crate::mesh::{Fact, Reason};

/// Reads an object of the operator.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    match object.kind {
        "Istio" => Some(istio(object)),
        "IstioRevision" => {
            let mut install = control_plane(object);
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
fn spec<'t>(object: &Object<'t>, keys: &[&'static str]) -> Option<NodeRef<'t>> {
    object.node.get("spec")?.at(&FieldPath::keys(keys))
}

/// Reads an `Istio`. `InPlace` names the revision after the object; `RevisionBased` adds the release.
fn istio(object: &Object<'_>) -> Install {
    let mut install = control_plane(object);
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

fn control_plane(object: &Object<'_>) -> Install {
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
    install.cni = Some(cni_plugin_installed(&Found::of(name, path)));
    install
}

/// Returns whether the CNI plugin sets up traffic capture, given where it is installed. This is assumed, because istiod
/// must be configured to leave the capture to it.
pub(super) fn cni_plugin_installed(found: &Found<'_>) -> Fact<bool> {
    let installed = Fact::known(true, found.label("the CNI plugin is installed here"));
    let message = "istiod leaves traffic capture to the CNI plugin (`pilot.cni.enabled`)";
    installed.depending_on(&Fact::assumed(
        (),
        message,
        Some("--override cni=true|false"),
    ))
}
