//! Flux: `HelmRelease`.
//!
//! Source: helm-controller 1.3, `docs/spec/v2/helmreleases.md` ("Values": later references
//! overwrite earlier ones, `.spec.values` overwrites all); source-controller, `OCIRepository`.

use std::sync::Arc;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{FieldPath, NodeRef};

use super::carrier::{Carrier, Part};
use super::carrier_context::{CarrierContext, PlainFile};
use super::chart::{Chart, version_fact};
use super::found::{Found, Typing};
use super::installation::Install;
use super::layer::{Embedded, Layer};
use super::release::{ChartSource, Release, layers_of};
use super::values::Values;
use crate::kube::Object;
use crate::mesh::{Fact, Reason, Version};

/// Reads a `HelmRelease` of one of Istio's charts, or of a chart in the tree that depends on one.
pub(super) fn read(object: &Object<'_>, around: &CarrierContext<'_, '_>) -> Vec<Install> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let Some(chart) = chart(object, spec, around) else {
        return Vec::new();
    };
    let mut unread = Vec::new();
    let mut sources: Vec<Source<'_>> = spec
        .get("valuesFrom")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|reference| follow(object, reference, around, &mut unread))
        .collect();
    sources.reverse();
    let own = spec
        .get("values")
        .map(|node| Layer::file(node, object.path()));
    let followed = sources.iter().flat_map(Source::layers);
    let layers = own.into_iter().chain(followed).collect();
    let release = Release {
        chart,
        values: Values {
            layers,
            ..Values::default()
        },
        reads: sources.iter().filter_map(Source::file).collect(),
        unread,
    };
    release.installs(&Install::of(
        object,
        Carrier::HelmRelease,
        Part::ControlPlane,
    ))
}

fn chart<'a, 't>(
    object: &Object<'_>,
    spec: NodeRef<'_>,
    around: &'a CarrierContext<'a, 't>,
) -> Option<ChartSource<'a, 't>> {
    if let Some(reference) = spec.get("chartRef") {
        return referenced(object, reference, around);
    }
    let inner = spec
        .at(&FieldPath::keys(&["chart", "spec"]))
        .or_else(|| spec.get("chart"))?;
    let name = inner.get("chart").or_else(|| inner.get("name"))?.text()?;
    let version = inner
        .get("version")
        .map(|node| Found::of(node, object.path()))
        .and_then(|found| version_fact(&found));
    let source = inner.get("sourceRef").and_then(|source| source.get("name"));
    let repository = inner.get("repository").or(source).and_then(NodeRef::text);
    chart_named(name, version, repository, object, (object, inner), around)
}

/// Returns the chart with a name or path. `owner` contains the node `chart`, which names the source of the chart.
fn chart_named<'a, 't>(
    name: &str,
    version: Option<Fact<Version>>,
    repository: Option<&str>,
    object: &Object<'_>,
    (owner, chart): (&Object<'_>, NodeRef<'_>),
    around: &'a CarrierContext<'a, 't>,
) -> Option<ChartSource<'a, 't>> {
    let folder = around.chart(owner, chart, name);
    if let Some(file) = folder.filter(|_| name.contains('/')) {
        return Some(ChartSource::Folder(around, file));
    }
    let spec = |key: &str| object.node.get("spec")?.get(key)?.text();
    let hints = [
        repository,
        Some(object.name()),
        object.namespace(),
        spec("targetNamespace"),
    ];
    let chart = Chart::named_with_hints(name, hints.into_iter())?;
    Some(ChartSource::Istio(chart, version))
}

/// Returns the chart that `chartRef` refers to.
fn referenced<'a, 't>(
    object: &Object<'_>,
    reference: NodeRef<'_>,
    around: &'a CarrierContext<'a, 't>,
) -> Option<ChartSource<'a, 't>> {
    let text = |key: &str| reference.get(key).and_then(NodeRef::text);
    let namespace = text("namespace").or_else(|| object.namespace());
    let kind = text("kind").unwrap_or("OCIRepository");
    let source = around.object(kind, text("name")?, namespace, object.path())?;
    let spec = source.node.get("spec")?;
    let (name, version) = if kind == "HelmChart" {
        (spec.get("chart")?, spec.get("version"))
    } else {
        let place = spec.get("ref");
        let version = place.and_then(|place| place.get("tag").or_else(|| place.get("semver")));
        (spec.get("url")?, version)
    };
    let version = version.and_then(|node| version_fact(&Found::of(node, source.path())));
    let name = name.text()?;
    chart_named(name, version, Some(name), object, (source, spec), around)
}

/// Values from a `valuesFrom` entry.
enum Source<'t> {
    /// A values file of the tree that a generator copies.
    File(PlainFile<'t>),
    /// A whole values file.
    Text(Embedded),
    /// One value, with its path.
    Value(Embedded, String),
}

impl<'t> Source<'t> {
    fn file(&self) -> Option<Arc<str>> {
        match self {
            Self::File(file) => Some(Arc::clone(file.path)),
            Self::Text(_) | Self::Value(..) => None,
        }
    }

    fn layers<'s>(&'s self) -> Vec<Layer<'s>>
    where
        't: 's,
    {
        match self {
            Self::File(file) => layers_of(file),
            Self::Text(text) => Layer::embedded(text).into_iter().collect(),
            Self::Value(text, path) => {
                let layer = Layer::embedded(text);
                layer
                    .map(|layer| layer.set(path, Typing::Set))
                    .into_iter()
                    .collect()
            }
        }
    }
}

/// Resolves a `valuesFrom` entry, or records in `unread` why it cannot.
fn follow<'t>(
    object: &Object<'_>,
    reference: NodeRef<'_>,
    around: &CarrierContext<'_, 't>,
    unread: &mut Vec<Reason>,
) -> Option<Source<'t>> {
    let text = |key: &str| reference.get(key).and_then(NodeRef::text);
    let (kind, name) = (
        text("kind").unwrap_or_default(),
        text("name").unwrap_or_default(),
    );
    let mut unknown = |message: String| {
        unread.push(Reason::written(object.label_at(reference.span(), message)));
    };
    let source = || format!("values come from {kind} `{name}`");
    let key = text("valuesKey").unwrap_or("values.yaml");
    let value = match around.config_value(object, (kind, name), key) {
        Ok(Some(value)) => value,
        Ok(None) if text("optional") == Some("true") => return None,
        Ok(None) => {
            unknown(format!("{}, which is not in the tree", source()));
            return None;
        }
        Err(why) => {
            unknown(format!("values of the release are not known: {why}"));
            return None;
        }
    };
    if let Some(target) = text("targetPath") {
        let embedded = Embedded::value(&value.text, value.value)?;
        return Some(Source::Value(embedded, target.to_owned()));
    }
    if let Some(file) = around
        .file_at("", &value.value.path)
        .filter(|_| value.value.path != value.key.path)
    {
        return Some(Source::File(file));
    }
    match Embedded::parse(&value.text, value.key.clone()) {
        Ok(parsed) => Some(Source::Text(parsed)),
        // Flux, or another tool, fills them in before Helm reads the text.
        Err(_) if placeholder::contains(&value.text) => {
            unknown(format!("{}, whose variables are not known", source()));
            None
        }
        Err(error) => {
            unknown(format!("{}, whose text is not valid YAML", source()));
            unread.push(Embedded::broken(&value.text, &error, value.key));
            None
        }
    }
}
