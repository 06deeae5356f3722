//! The Sail operator: `Istio`, `IstioRevision`, `IstioRevisionTag`, `IstioCNI`, `ZTunnel`.
//!
//! Source: Sail operator 1.26, `api/v1/istio_types.go`, `istiorevision_types.go`,
//! `istiorevisiontags_types.go`, `pkg/revision/name.go`.

use crate::kube::Object;
use crate::mesh::{Fact, Reason};
use crate::yaml::{NodeRef, Route};

use super::layer::{Layer, Typing};
use super::values::{Found, Values};
use super::version::of_tag;
use super::{Carrier, Install, Part, istiod};

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
            let place = object.label_at(object.name_span(), "the node proxy of ambient mode");
            install.ambient = Some(Fact::known(true, place));
            Some(install)
        }
        _ => None,
    }
}

fn spec<'t>(object: &Object<'t>, keys: &[&'static str]) -> Option<NodeRef<'t>> {
    object.node.get("spec")?.at(&Route::keys(keys))
}

/// `InPlace` names the revision after the object; `RevisionBased` adds the release.
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
        let said = format!("revision `{name}` is served here");
        install.revision = Some(Fact::known(name, object.label_at(span, said)));
    } else {
        let said = "the operator names the revision after the release that it picks";
        let place = object.label_at(span, said);
        install.more_names = Some(Reason::written(place.clone()));
        install.revision = Some(Fact::known(name, place));
    }
    install
}

/// The name `default` stands for the revision without a name.
fn revision_of_name(object: &Object<'_>) -> Option<Fact<String>> {
    let name = object.name();
    let said = format!("revision `{name}` is served here");
    let fact = Fact::known(name.to_owned(), object.label_at(object.name_span(), said));
    (name != "default").then_some(fact)
}

fn control_plane(object: &Object<'_>) -> Install {
    let mut install = Install::of(object, Carrier::Sail, Part::ControlPlane);
    let path = object.path();
    install.version = spec(object, &["version"]).and_then(|node| {
        let version = of_tag(node.text()?)?;
        let said = format!("the operator installs Istio {version}");
        Some(Fact::known(version, object.label_at(node.span(), said)))
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
        ..Values::default()
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
    let said = format!("tag `{}` is served here", object.name());
    let place = object.label_at(object.name_span(), said);
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
        ..Values::default()
    };
    istiod::read_cni_into(&mut install, &values);
    let name = object.node.get("kind").unwrap_or(object.node);
    install.cni = Some(plugin_is_there(&Found::of(name, path)));
    install
}

/// The plugin alone says little: istiod must be told to leave the redirect to it.
pub(super) fn plugin_is_there(found: &Found<'_>) -> Fact<bool> {
    let there = Fact::known(true, found.label("the CNI plugin is installed here"));
    let said = "istiod leaves the redirect to the CNI plugin (`pilot.cni.enabled`)";
    there.resting_on(&Fact::assumed((), said, Some("--override cni=true|false")))
}
