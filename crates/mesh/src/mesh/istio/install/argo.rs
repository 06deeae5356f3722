//! Argo CD: `Application` and `ApplicationSet`.
//!
//! Source: Argo CD 3.1, `docs/user-guide/helm.md` ("parameters > valuesObject > values >
//! valueFiles"), `pkg/apis/application/v1alpha1/values.go` (`values` is ignored if there is
//! `valuesObject`), `docs/operator-manual/applicationset/Generators-List.md`, `applicationset/utils/utils.go`
//! (`deeplyReplace` fills in each string of a template, keys included, before anything parses it).

use std::sync::Arc;

use meshprobe_yaml::{Entry, FieldPath, NodeRef, Scalar};

use super::bindings::Bindings;
use super::carrier::{Carrier, Part};
use super::carrier_context::{CarrierContext, PlainFile};
use super::chart::{Chart, version_fact};
use super::found::{Found, Typing};
use super::installation::Install;
use super::layer::{Embedded, Layer};
use super::release::{ChartSource, Release, layers_of};
use super::values::Values;
use crate::kube::Object;
use crate::mesh::Reason;

/// Reads the sources of an `Application`, or of the Applications that an `ApplicationSet` generates: one per element of
/// its list generators, or else one with unknown parameters.
pub(super) fn read(object: &Object<'_>, around: &CarrierContext<'_, '_>) -> Vec<Install> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    if object.kind == "Application" {
        return read_spec(object, spec, &Bindings::default(), around);
    }
    let Some(inner) = spec.at(&FieldPath::keys(&["template", "spec"])) else {
        return Vec::new();
    };
    elements(spec)
        .iter()
        .flat_map(|bindings| read_spec(object, inner, bindings, around))
        .collect()
}

/// Returns the elements of the list generators at the top level.
fn elements(spec: NodeRef<'_>) -> Vec<Bindings> {
    let lists = spec
        .get("generators")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|generator| generator.get("list")?.get("elements"));
    let all: Vec<Bindings> = lists.flat_map(NodeRef::items).map(bindings).collect();
    if all.is_empty() {
        vec![Bindings::default()]
    } else {
        all
    }
}

fn bindings(element: NodeRef<'_>) -> Bindings {
    let pairs = element.entries();
    let text = |node: NodeRef<'_>| node.text().map(str::to_owned);
    Bindings(
        pairs
            .filter_map(|pair| Some((text(pair.key)?, text(pair.value)?)))
            .collect(),
    )
}

fn read_spec(
    object: &Object<'_>,
    spec: NodeRef<'_>,
    bindings: &Bindings,
    around: &CarrierContext<'_, '_>,
) -> Vec<Install> {
    // If there are several sources, the single one is ignored.
    let several = spec
        .get("sources")
        .filter(|sources| sources.items().len() > 0);
    let sources = spec
        .get("source")
        .filter(|_| several.is_none())
        .into_iter()
        .chain(several.into_iter().flat_map(NodeRef::items));
    sources
        .flat_map(|source| read_source(object, (spec, source), bindings, around))
        .collect()
}

fn read_source(
    object: &Object<'_>,
    (spec, source): (NodeRef<'_>, NodeRef<'_>),
    bindings: &Bindings,
    around: &CarrierContext<'_, '_>,
) -> Vec<Install> {
    let Some(chart) = chart(object, source, bindings, around) else {
        return Vec::new();
    };
    let helm = source.get("helm");
    let mut unread = open_templates(object, helm);
    let text = helm.and_then(|helm| values_text(object, helm, bindings, &mut unread));
    let mut reads = Vec::new();
    let mut layers = helm
        .map(|helm| parameters(object, helm))
        .unwrap_or_default();
    let inline = helm.and_then(|helm| helm.get("valuesObject"));
    layers.extend(inline.map(|node| Layer::file(node, object.path())));
    layers.extend(text.as_ref().and_then(Layer::embedded));
    let listed = helm.and_then(|helm| helm.get("valueFiles"));
    let mut names: Vec<NodeRef<'_>> = listed.into_iter().flat_map(NodeRef::items).collect();
    names.reverse();
    for name in names {
        let found = Found::of(name, object.path()).filled(bindings);
        let path = found.string().unwrap_or_default();
        match values_file(object, path, source, spec, around) {
            Some(file) => {
                layers.extend(layers_of(&file));
                reads.push(Arc::clone(file.path));
            }
            None => {
                let message = format!("values come from `{path}`, which is not in the tree");
                unread.push(Reason::written(found.label(message)));
            }
        }
    }
    let values = Values {
        layers,
        bindings: bindings.clone(),
    };
    let release = Release {
        chart,
        values,
        reads,
        unread,
    };
    release.installs(&Install::of(
        object,
        Carrier::Application,
        Part::ControlPlane,
    ))
}

/// Returns the chart of a source: `chart` names a chart of a chart repository, `path` a folder of a Git repository.
fn chart<'a, 't>(
    object: &Object<'_>,
    source: NodeRef<'_>,
    bindings: &Bindings,
    around: &'a CarrierContext<'a, 't>,
) -> Option<ChartSource<'a, 't>> {
    let text = |key: &str| {
        let found = Found::of(source.get(key)?, object.path()).filled(bindings);
        found.string().map(str::to_owned)
    };
    let revision = source.get("targetRevision");
    let revision = revision.map(|node| Found::of(node, object.path()).filled(bindings));
    let version = || revision.as_ref().and_then(version_fact);
    let url = text("repoURL");
    if let Some(name) = text("chart") {
        let hints = [url.as_deref(), Some(object.name())];
        return Some(ChartSource::Istio(
            Chart::named_with_hints(&name, hints.into_iter())?,
            version(),
        ));
    }
    if let Some(file) = text("path").and_then(|path| around.chart(object, source, &path)) {
        return Some(ChartSource::Folder(around, file));
    }
    let url = url.filter(|url| url.starts_with("oci://"))?;
    let hints = [Some(url.as_str()), Some(object.name())];
    Some(ChartSource::Istio(
        Chart::named_with_hints(&url, hints.into_iter())?,
        version(),
    ))
}

/// Returns the parts of an ApplicationSet that change values in a way that is not evaluated: its `templatePatch`, and the
/// first templates among the keys of `valuesObject`.
fn open_templates(object: &Object<'_>, helm: Option<NodeRef<'_>>) -> Vec<Reason> {
    if object.kind != "ApplicationSet" {
        return Vec::new();
    }
    let values = helm.and_then(|helm| helm.get("valuesObject"));
    let is_open = |entry: &Entry<'_>| entry.key.text().is_some_and(|key| key.contains("{{"));
    let inside = values.map(NodeRef::span).unwrap_or_default();
    let nodes = object.node.tree().all();
    let nodes = nodes.filter(|node| inside.contains(node.span()));
    let keys = nodes.filter_map(|node| node.entries().find(is_open));
    let keys = keys.map(|entry| (entry.key, FILLED_IN));
    let patch = object
        .node
        .get("spec")
        .and_then(|spec| spec.entry("templatePatch"));
    let patch = patch.filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()));
    let patch = patch.map(|entry| (entry.key, "`templatePatch` may change the values"));
    let reason =
        |(node, why): (NodeRef<'_>, &str)| Reason::written(object.label_at(node.span(), why));
    patch.into_iter().chain(keys).map(reason).collect()
}

/// The reason for values that remain templates.
const FILLED_IN: &str = "the ApplicationSet fills in a template in the values";

/// Parses the text `values`, which Argo CD ignores if there is `valuesObject`. The text in an ApplicationSet that is not
/// YAML may become YAML when its templates are filled in.
fn values_text(
    object: &Object<'_>,
    helm: NodeRef<'_>,
    bindings: &Bindings,
    unread: &mut Vec<Reason>,
) -> Option<Embedded> {
    if helm.get("valuesObject").is_some_and(|node| !node.is_null()) {
        return None;
    }
    let entry = helm.entry("values")?;
    let text = bindings.fill(entry.value.text()?);
    let line = object.label_at(entry.key.span(), "");
    match Embedded::parse(&text, line.clone()) {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            let is_template = object.kind == "ApplicationSet" && text.contains("{{");
            unread.push(match is_template {
                true => Reason::written(object.label_at(entry.key.span(), FILLED_IN)),
                false => Embedded::broken(&text, &error, line),
            });
            None
        }
    }
}

/// Returns the parameters, the strongest first: the last of duplicates takes precedence.
fn parameters<'t>(object: &Object<'t>, helm: NodeRef<'t>) -> Vec<Layer<'t>> {
    let items = helm.get("parameters").into_iter().flat_map(NodeRef::items);
    let layer = |item: NodeRef<'t>| {
        let forced = item.get("forceString").and_then(NodeRef::scalar);
        let typing = if forced == Some(Scalar::Bool(true)) {
            Typing::Text
        } else {
            Typing::Set
        };
        let name = item.get("name")?.text()?;
        Some(Layer::file(item.get("value")?, object.path()).set(name, typing))
    };
    let mut layers: Vec<Layer<'t>> = items.filter_map(layer).collect();
    layers.reverse();
    layers
}

/// Returns a values file of the tree: `$ref/…` is in the source with this name, all others in that of the chart.
fn values_file<'t>(
    object: &Object<'_>,
    path: &str,
    source: NodeRef<'_>,
    spec: NodeRef<'_>,
    around: &CarrierContext<'_, 't>,
) -> Option<PlainFile<'t>> {
    let name = path.strip_prefix('$');
    let name = name.map(|rest| rest.split_once('/').map_or(rest, |(name, _)| name));
    let is_named = |other: &NodeRef<'_>| other.get("ref").and_then(NodeRef::text) == name;
    let mut sources = spec.get("sources").into_iter().flat_map(NodeRef::items);
    let named = name.and_then(|_| sources.find(is_named));
    let path = in_repository(path, source);
    match (named, source.get("path")) {
        (Some(named), _) => around.file_of(object, named, &path),
        (None, Some(_)) => around.file_of(object, source, &path),
        (None, None) => around.file(&path, object.path()),
    }
}

/// Returns the path of a values file from the root of its repository: `$ref/…` and `/…` are relative to the root,
/// all others to the folder of the chart.
fn in_repository(path: &str, source: NodeRef<'_>) -> String {
    if let Some(rest) = path.strip_prefix('$') {
        return rest.split_once('/').map_or("", |(_, file)| file).to_owned();
    }
    if path.starts_with('/') {
        return path.to_owned();
    }
    let folder = source
        .get("path")
        .and_then(NodeRef::text)
        .unwrap_or_default();
    format!("{folder}/{path}")
}
