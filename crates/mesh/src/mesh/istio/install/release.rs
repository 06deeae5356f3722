//! A release of a chart: which of Istio's charts it contains, and what their values state.
//!
//! Values files that no other object refers to.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_tree::source::{Content, SourceFile, placeholder};
use meshprobe_yaml::{NodeRef, Tree};

use super::chart::{Chart, PlainFile, dependencies, is_gateway_chart, vendored, version_fact};
use super::installation::{Carrier, Install, Part};
use super::istiod;
use super::operators::cni_plugin_installed;
use super::values::{Embedded, Layer, Place, Typing, Values};
use crate::finding::Label;
use crate::kube::Object;
use crate::mesh;
use crate::mesh::{Fact, Mesh, Reason, Version};

/// A chart that something deploys, with its values as far as the tree contains them.
#[derive(Debug)]
pub struct ChartRelease<'t> {
    /// The chart.
    pub chart: FoundChart<'t>,
    /// What states the version of the chart.
    pub version: Option<(NodeRef<'t>, Place<'t>)>,
    /// Texts that show whose chart it is, such as the URL of its repository.
    pub hints: Vec<&'t str>,
    /// The values; later ones take precedence.
    pub values: Vec<ReleaseValues<'t>>,
    /// Values that are not known, each with the reason.
    pub unread: Vec<Label>,
    /// The file `values.yaml` of the chart, if other files replace it.
    pub replaced: Option<&'t SourceFile>,
}

/// The chart of a release.
#[derive(Clone, Copy, Debug)]
pub enum FoundChart<'t> {
    /// A chart in a folder of the tree, and its file `values.yaml`.
    Folder(PlainFile<'t>, Option<&'t SourceFile>),
    /// A chart with this name, which is not in the tree.
    Named(&'t str),
    /// A chart without a name, for this reason.
    Unnamed(&'static str),
}

/// Values of a release.
#[derive(Clone, Debug)]
pub enum ReleaseValues<'t> {
    /// A values file of the tree.
    File(&'t SourceFile),
    /// A mapping.
    Mapping(NodeRef<'t>, Place<'t>),
    /// A text.
    Text(ValuesText<'t>),
    /// A single value, as with `helm --set`, or `helm --set-string` if the flag is set.
    Parameter(&'t str, NodeRef<'t>, Place<'t>, bool),
}

/// A text with values.
#[derive(Clone, Debug)]
pub struct ValuesText<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// The place to which its values point.
    pub place: Label,
    /// The path of the single value that the text is; `None` for a document.
    pub target: Option<&'t str>,
    /// The values file that a generator copies.
    pub copied: Option<&'t SourceFile>,
    /// The reference to the object that contains the text, if that is another one.
    pub taken: Option<Label>,
    /// Whether an ApplicationSet contains the text.
    pub is_of_set: bool,
}

/// The reason for values that remain templates.
pub const FILLED_IN: &str = "the ApplicationSet fills in a template in the values";

/// Returns the installations of a release that an object deploys.
#[must_use]
pub fn of_object(object: &Object<'_>, release: &ChartRelease<'_>) -> Vec<Install> {
    let carrier = match object.kind {
        "HelmRelease" => Carrier::HelmRelease,
        "HelmChart" => Carrier::HelmChart,
        _ => Carrier::Application,
    };
    installs(release, || Install::of(object, carrier, Part::ControlPlane))
}

/// Returns the installations of a release that a kustomization lists at a place.
#[must_use]
pub fn of_kustomization(name: &str, place: &Label, release: &ChartRelease<'_>) -> Vec<Install> {
    installs(release, || {
        let (carrier, part) = (Carrier::Kustomization, Part::ControlPlane);
        Install::new(carrier, part, name.to_owned(), place.clone())
    })
}

/// Returns the meshes other than Istio that a release installs, each with its release and the place that states it.
#[must_use]
pub fn meshes_of_release(release: &ChartRelease<'_>) -> Vec<(Mesh, Version, Label)> {
    match &release.chart {
        FoundChart::Folder(file, _) => meshes_of_chart(file),
        FoundChart::Named(name) => {
            let version = release.version.iter();
            let meshes = version.filter_map(|(node, place)| mesh_of(name, *node, place));
            meshes.collect()
        }
        FoundChart::Unnamed(_) => Vec::new(),
    }
}

/// Returns the meshes other than Istio that the chart of a `Chart.yaml` installs, itself or as dependencies.
#[must_use]
pub fn meshes_of_chart(file: &PlainFile<'_>) -> Vec<(Mesh, Version, Label)> {
    let dependencies = file.root.get("dependencies").into_iter();
    let charts = std::iter::once(file.root).chain(dependencies.flat_map(NodeRef::items));
    let mesh = |chart: NodeRef<'_>| {
        let name = chart.get("name")?.text()?;
        mesh_of(name, chart.get("version")?, &Place::File(file.path))
    };
    charts.filter_map(mesh).collect()
}

fn mesh_of(name: &str, version: NodeRef<'_>, place: &Place<'_>) -> Option<(Mesh, Version, Label)> {
    let name = name.trim_end_matches('/').rsplit('/').next()?;
    let (mesh, release) = mesh::release_of_chart(name, version.text()?)?;
    Some((mesh, release, place.label(version.span(), String::new())))
}

fn installs(release: &ChartRelease<'_>, blank: impl Fn() -> Install) -> Vec<Install> {
    let (charts, own) = match release.chart {
        FoundChart::Folder(file, own) => (charts_in(&file), own),
        FoundChart::Named(name) => {
            let hints = release.hints.iter().map(|hint| Some(*hint));
            let chart = Chart::named_with_hints(name, hints);
            let version = release.version.as_ref().and_then(|(node, place)| {
                version_fact(&Layer::at(*node, place.clone()).found(*node))
            });
            let charts = chart.map(|chart| (chart, None, version));
            (charts.into_iter().collect(), None)
        }
        FoundChart::Unnamed(_) => return Vec::new(),
    };
    if charts.is_empty() {
        return Vec::new();
    }
    let unread = release.unread.iter().cloned();
    let mut unread: Vec<Reason> = unread.map(Reason::written).collect();
    let texts = release.values.iter().map(|values| match values {
        ReleaseValues::Text(text) if copied_root(text).is_none() => parsed(text, &mut unread),
        _ => None,
    });
    let texts: Vec<Option<Embedded>> = texts.collect();
    let replaced = release.replaced.iter();
    let mut reads: Vec<_> = replaced.map(|file| Arc::clone(&file.path)).collect();
    let mut layers = Vec::new();
    let own = own.map(ReleaseValues::File);
    let found = release.values.iter().zip(texts.iter().map(Option::as_ref));
    for (values, text) in found.rev().chain(own.iter().map(|own| (own, None))) {
        match values {
            ReleaseValues::File(file) => {
                reads.push(Arc::clone(&file.path));
                match plain_root(file) {
                    Some(root) => layers.extend(layers_of(root, &file.path)),
                    None => unread.extend(unreadable(file).map(Reason::written)),
                }
            }
            ReleaseValues::Mapping(node, place) => layers.push(Layer::at(*node, place.clone())),
            ReleaseValues::Parameter(name, node, place, is_text) => {
                let typing = if *is_text { Typing::Text } else { Typing::Set };
                layers.push(Layer::at(*node, place.clone()).set(name, typing));
            }
            ReleaseValues::Text(values) => {
                if let Some((file, root)) = copied_root(values) {
                    reads.push(Arc::clone(&file.path));
                    layers.extend(layers_of(root, &file.path));
                }
                let layer = text.and_then(Layer::embedded);
                layers.extend(layer.map(|layer| match values.target {
                    Some(target) => layer.set(target, Typing::Set),
                    None => layer,
                }));
            }
        }
    }
    let values = Values { layers };
    let install = |(chart, key, version): (Chart, Option<String>, Option<Fact<Version>>)| {
        let inner = key.map(|key| values.under(&key));
        let mut install = blank();
        install.reads.clone_from(&reads);
        install.unread.clone_from(&unread);
        read_chart(
            &mut install,
            chart,
            inner.as_ref().unwrap_or(&values),
            version,
        );
        install
    };
    charts.into_iter().map(install).collect()
}

/// Returns the root of a file without objects.
fn plain_root(file: &SourceFile) -> Option<NodeRef<'_>> {
    match &file.documents.first()?.content {
        Content::Plain(tree) => Tree::root(tree),
        _ => None,
    }
}

/// Returns the values file that a generator copies, with its root.
fn copied_root<'t>(text: &ValuesText<'t>) -> Option<(&'t SourceFile, NodeRef<'t>)> {
    let file = text.copied.filter(|_| text.target.is_none())?;
    Some((file, plain_root(file)?))
}

/// Returns why a values file has no values that can be read; `None` for an empty one.
fn unreadable(file: &SourceFile) -> Option<Label> {
    let document = file.documents.first()?;
    let is_empty = matches!(document.content, Content::Empty);
    (!is_empty).then(|| Label {
        path: Arc::clone(&file.path),
        span: document.segment,
        message: "the values in this file cannot be read".to_owned(),
    })
}

/// Parses a text with values, or records why it cannot be parsed.
fn parsed(values: &ValuesText<'_>, unread: &mut Vec<Reason>) -> Option<Embedded> {
    let (text, place) = (&*values.text, &values.place);
    if values.target.is_some() {
        return Embedded::value(text, place.clone());
    }
    let error = match Embedded::parse(text, place.clone()) {
        Ok(parsed) => return Some(parsed),
        Err(error) => error,
    };
    let at = |label: &Label, message: String| {
        let label = label.clone();
        Reason::written(Label { message, ..label })
    };
    let source = |rest: &str| {
        let taken = values.taken.as_ref();
        taken.map(|taken| at(taken, format!("{}, {rest}", taken.message)))
    };
    if values.is_of_set && text.contains("{{") {
        unread.push(at(place, FILLED_IN.to_owned()));
    } else if values.taken.is_some() && placeholder::contains(text) {
        // Flux, or another tool, fills them in before Helm reads the text.
        unread.extend(source("whose variables are not known"));
    } else {
        unread.extend(source("whose text is not valid YAML"));
        unread.push(Embedded::broken(text, &error, place.clone()));
    }
    None
}

/// Returns the charts of Istio in a `Chart.yaml`: the chart itself, or its dependencies with the key of
/// their values.
pub(super) fn charts_in(
    file: &PlainFile<'_>,
) -> Vec<(Chart, Option<String>, Option<Fact<Version>>)> {
    if let Some((chart, version)) = vendored(file) {
        return vec![(chart, None, version)];
    }
    dependencies(file)
        .into_iter()
        .map(|dependency| (dependency.chart, Some(dependency.key), dependency.version))
        .collect()
}

/// Returns whether a `Chart.yaml` describes a chart of Istio, or one that only depends on such charts.
#[must_use]
pub fn has_only_istio_charts(file: &PlainFile<'_>) -> bool {
    let all = || {
        let list = file.root.get("dependencies");
        list.into_iter().flat_map(NodeRef::items)
    };
    let is_gateway = |item: &NodeRef<'_>| {
        let text = |key: &str| item.get(key).and_then(NodeRef::text);
        is_gateway_chart(
            text("name").unwrap_or_default(),
            text("repository").into_iter(),
        )
    };
    let dependencies = dependencies(file);
    let of_istio = dependencies
        .iter()
        .filter(|found| found.chart.is_of_istio());
    let of_istio = of_istio.count() + all().filter(is_gateway).count();
    vendored(file).is_some_and(|(chart, _)| chart.is_of_istio())
        || of_istio > 0 && of_istio == all().count()
}

/// Returns the layers of a values file. In a copy of Istio's charts, the defaults are under a
/// separate key, which is weaker than all that is set (`templates/zzz_profile.yaml`).
pub(super) fn layers_of<'t>(root: NodeRef<'t>, path: &'t Arc<str>) -> Vec<Layer<'t>> {
    let mut inner = ["defaults", "_internal_defaults_do_not_set"].into_iter();
    let inner = inner.find_map(|key| root.get(key));
    let layers = std::iter::once(root).chain(inner);
    layers.map(|node| Layer::file(node, path)).collect()
}

/// Reads the values of one chart.
pub(super) fn read_chart(
    install: &mut Install,
    chart: Chart,
    values: &Values<'_>,
    version: Option<Fact<Version>>,
) {
    let version = version.filter(|version| version.value.major == 1 || !chart.is_of_istio());
    let place = install.place.clone();
    match chart {
        Chart::Network(chart) => chart.read_into(install, values, version),
        Chart::Istiod => {
            install.part = Part::ControlPlane;
            istiod::read_into(install, values);
            // The version of the image takes precedence over that of the chart.
            install.version = install.version.take().or(version);
        }
        Chart::Base | Chart::Cni | Chart::Ztunnel => {
            install.part = Part::Cluster;
            let same = "all of Istio's charts are from one release";
            install.version = version.map(|version| {
                version.depending_on(&Fact::assumed((), same, Some("--mesh-version")))
            });
            if chart == Chart::Cni {
                istiod::read_cni_into(install, values);
                install.cni = Some(cni_plugin_installed(place));
            } else if chart == Chart::Ztunnel {
                let message =
                    "ztunnel, the node proxy of ambient mode, is installed here".to_owned();
                install.ambient = Some(Fact::known(true, Label { message, ..place }));
            }
        }
    }
}

/// Reads a file of Helm values.
///
/// `chart` is the `Chart.yaml` of the same folder, if there is one. If it depends on Istio's charts, their values are
/// under the name or the alias; if it is a copy of one of them, they are at the top level. Without a chart, the keys
/// of the file show whether they are values of istiod, also below the key of a subchart. If `is_deployed`, something else
/// of the tree installs istiod, and the webhook alone is not enough: the file may be an example.
/// Returns one installation per chart of Istio whose values the file contains.
#[must_use]
pub fn from_values_file(
    file: &PlainFile<'_>,
    chart: Option<&PlainFile<'_>>,
    is_deployed: bool,
) -> Vec<Install> {
    if file.is_chart() || !file.root.is_mapping() {
        return Vec::new();
    }
    let values = Values {
        layers: layers_of(file.root, file.path),
    };
    let charts = chart.map(charts_in).unwrap_or_default();
    if charts.is_empty() {
        let keys = values_of_istiod(file.root, is_deployed);
        return keys
            .map(|keys| {
                let values = keys.iter().fold(values, |values, key| values.under(key));
                let mut install = blank(file, file.root);
                read_chart(&mut install, Chart::Istiod, &values, None);
                install
            })
            .into_iter()
            .collect();
    }
    charts
        .into_iter()
        .filter_map(|(chart, key, version)| {
            let node = match &key {
                Some(key) => file.root.get(key),
                None => Some(file.root),
            };
            // One of several values files may have no values for a chart.
            let mut install = blank(file, node?);
            let own = key.map(|key| values.under(&key));
            read_chart(
                &mut install,
                chart,
                own.as_ref().unwrap_or(&values),
                version,
            );
            Some(install)
        })
        .collect()
}

fn blank(file: &PlainFile<'_>, node: NodeRef<'_>) -> Install {
    // A label points to the first key, because the whole file would be too long.
    let first = node.entries().next().map_or(node, |entry| entry.key);
    let place = Label {
        path: Arc::clone(file.path),
        span: first.span(),
        message: "these values describe the installation".to_owned(),
    };
    Install::new(
        Carrier::HelmValues,
        Part::ControlPlane,
        String::new(),
        place,
    )
}

/// Returns the values of istiod in a file: the whole file, or the values of a subchart.
fn values_of_istiod(root: NodeRef<'_>, is_deployed: bool) -> Option<Vec<String>> {
    if looks_like_istiod(root, is_deployed) {
        return Some(Vec::new());
    }
    let below = |node: NodeRef<'_>| {
        let mut entries = node.entries();
        entries.find_map(|entry| {
            let key = entry.key.text()?.to_owned();
            looks_like_istiod(entry.value, is_deployed).then_some(key)
        })
    };
    if let Some(key) = below(root) {
        return Some(vec![key]);
    }
    root.entries()
        .find_map(|entry| Some(vec![entry.key.text()?.to_owned(), below(entry.value)?]))
}

/// Returns whether a mapping contains values of istiod: those of its webhook, or two other keys.
fn looks_like_istiod(root: NodeRef<'_>, is_deployed: bool) -> bool {
    let root = ["defaults", "_internal_defaults_do_not_set"]
        .into_iter()
        .find_map(|key| root.get(key))
        .unwrap_or(root);
    let is_set = |key: &str| root.get(key).is_some_and(NodeRef::is_mapping);
    let keys = ["pilot", "meshConfig", "revisionTags"];
    let found = keys.iter().filter(|key| root.get(key).is_some()).count();
    let namespace = root
        .get("global")
        .and_then(|global| global.get("istioNamespace"));
    let has_webhook = is_set("sidecarInjectorWebhook");
    let others = found + usize::from(namespace.is_some());
    has_webhook && !is_deployed || others + usize::from(has_webhook) >= 2
}
