//! Views of the objects of Flux, Argo CD and k3s, and of the files of Fleet, that deploy folders and charts.
//!
//! Sources: helm-controller 1.3, `docs/spec/v2/helmreleases.md`; Argo CD 3.1, `docs/user-guide/helm.md` and
//! `docs/user-guide/multiple_sources.md`; k3s-io/helm-controller, `pkg/apis/helm.cattle.io/v1/types.go`.

use std::sync::Arc;

use meshprobe_tree::source::{ARGO_SERVER, Cluster, placeholder};
use meshprobe_yaml::{Entry, FieldPath, NodeRef};

use crate::kube::Object;

/// The name that Argo CD gives to its own cluster, unless the user renames it.
const ARGO_NAME: &str = "in-cluster";

/// How an object names the repository of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceName<'t> {
    /// `sourceRef` of an object of Flux.
    Flux {
        kind: &'t str,
        name: &'t str,
        namespace: Option<&'t str>,
    },
    /// The URL of a Git repository, such as `repoURL` of Argo CD.
    Url(&'t str),
}

impl<'t> SourceName<'t> {
    /// Reads the `sourceRef` of `object`.
    #[must_use]
    pub fn of_reference(object: &Object<'t>, reference: Option<NodeRef<'t>>) -> Self {
        let text = |key: &str| text(reference?, key);
        Self::Flux {
            kind: text("kind").unwrap_or("GitRepository"),
            name: text("name").unwrap_or_default(),
            namespace: text("namespace").or_else(|| object.namespace()),
        }
    }

    /// Reads the `repoURL` of a source of Argo CD.
    #[must_use]
    pub fn of_argo(source: NodeRef<'t>) -> Self {
        Self::Url(text(source, "repoURL").unwrap_or_default())
    }

    /// Returns the text that names it.
    #[must_use]
    pub const fn text(&self) -> &'t str {
        match self {
            Self::Flux { name, .. } => name,
            Self::Url(url) => url,
        }
    }

    /// Returns whether it may be a Git repository.
    #[must_use]
    pub fn may_be_git(&self) -> bool {
        match self {
            Self::Flux { kind, .. } => *kind == "GitRepository",
            Self::Url(url) => !url.starts_with("oci://"),
        }
    }
}

/// A source of a folder that an object deploys.
#[derive(Clone, Copy, Debug)]
pub struct NamedSource<'t> {
    /// The settings: the `spec` of a Flux Kustomization, or a source of an Application.
    pub node: NodeRef<'t>,
    pub name: SourceName<'t>,
}

impl<'t> NamedSource<'t> {
    /// Returns the path of the folder, if the source has one.
    #[must_use]
    pub fn path(&self) -> Option<NodeRef<'t>> {
        self.node.get("path")
    }
}

/// Returns the sources of the folders that a Flux Kustomization or an Application deploys.
#[must_use]
pub fn named_sources<'t>(object: &Object<'t>) -> Vec<NamedSource<'t>> {
    match (object.kind, object.group()) {
        ("Kustomization", "kustomize.toolkit.fluxcd.io") => {
            let spec = object.node.get("spec").into_iter();
            let source = |node: NodeRef<'t>| NamedSource {
                node,
                name: SourceName::of_reference(object, node.get("sourceRef")),
            };
            spec.map(source).collect()
        }
        ("Application", "argoproj.io") => {
            let sources = application(object).into_iter().flat_map(argo_sources);
            let source = |node| NamedSource {
                node,
                name: SourceName::of_argo(node),
            };
            sources.map(source).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the `spec` of an Application, or that of the template of an `ApplicationSet`.
#[must_use]
pub fn application<'t>(object: &Object<'t>) -> Option<NodeRef<'t>> {
    match (object.kind, object.group()) {
        ("Application", "argoproj.io") => object.node.get("spec"),
        ("ApplicationSet", "argoproj.io") => object
            .node
            .at(&FieldPath::keys(&["spec", "template", "spec"])),
        _ => None,
    }
}

/// Iterates over the sources in the `spec` of an Application: if there are several, the single one is ignored. Argo CD
/// renders the dry source of a hydrator, and commits the result to the branch that it deploys.
pub fn argo_sources<'t>(spec: NodeRef<'t>) -> impl Iterator<Item = NodeRef<'t>> {
    let several = spec
        .get("sources")
        .filter(|sources| sources.items().len() > 0);
    let single = spec.get("source").filter(|_| several.is_none());
    let hydrator = spec.get("sourceHydrator");
    let dry = hydrator.and_then(|hydrator| hydrator.get("drySource"));
    let several = several.into_iter().flat_map(NodeRef::items);
    single.into_iter().chain(several).chain(dry)
}

/// A chart that an object deploys, and the values that it sets for it.
#[derive(Clone, Debug)]
pub struct Release<'t> {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release, if the object names one.
    pub namespace: Option<&'t str>,
    pub chart: ChartName<'t>,
    /// The values; later ones take precedence.
    pub values: Vec<ValuesEntry<'t>>,
    /// The source of an Application; the `spec` of other objects.
    pub node: NodeRef<'t>,
    /// Settings that change the objects of the chart in a way that is not modelled.
    pub unsupported: Vec<&'static str>,
}

/// What names a chart.
#[derive(Clone, Debug)]
pub enum ChartName<'t> {
    /// Nothing does, for this reason.
    Unnamed(&'static str),
    /// `chartRef` of a `HelmRelease` names an object with the chart.
    Referenced(NodeRef<'t>),
    /// The object itself.
    Written(Chart<'t>),
}

/// The name of a chart.
#[derive(Clone, Debug)]
pub struct Chart<'t> {
    /// The name in a repository of charts, or the path of a folder.
    pub node: NodeRef<'t>,
    pub version: Option<NodeRef<'t>>,
    /// The repository of charts: its URL, or the source of Flux with the URL.
    pub repository: Option<ChartRepository<'t>>,
    /// The source of the folder, if the chart may be one.
    pub folder: Option<SourceName<'t>>,
    /// Whether the chart is a folder and cannot be from a repository of charts.
    pub is_folder: bool,
    /// The files with values, relative to the root of the source, that replace those of the chart.
    pub files: Vec<NodeRef<'t>>,
}

/// A repository of charts.
#[derive(Clone, Copy, Debug)]
pub enum ChartRepository<'t> {
    Url(&'t str),
    /// Kind and name of a source of Flux.
    Source(&'t str, &'t str),
}

/// Values that an object sets for a chart.
#[derive(Clone, Copy, Debug)]
pub enum ValuesEntry<'t> {
    /// A file of Argo CD; an optional one may be missing.
    File(NodeRef<'t>, bool),
    /// A reference of Flux to a ConfigMap or Secret.
    From(NodeRef<'t>),
    /// A text.
    Text(Entry<'t>),
    /// A mapping.
    Mapping(NodeRef<'t>),
    /// A single value, as with `helm --set`, or `helm --set-string` if the flag is set.
    Parameter(&'t str, NodeRef<'t>, bool),
    /// Values that are not read, for this reason.
    Unread(NodeRef<'t>, &'static str),
}

/// Returns the charts that an object deploys, or that the template of an `ApplicationSet` names.
#[must_use]
pub fn releases<'t>(object: &Object<'t>) -> Vec<Release<'t>> {
    match (object.kind, object.group()) {
        ("HelmRelease", "helm.toolkit.fluxcd.io" | "helm.fluxcd.io") => {
            let spec = object.node.get("spec").into_iter();
            spec.map(|spec| helm_release(object, spec)).collect()
        }
        ("HelmChart", "helm.cattle.io") => {
            let spec = object.node.get("spec").into_iter();
            spec.map(|spec| helm_chart(object, spec)).collect()
        }
        ("Application" | "ApplicationSet", "argoproj.io") => {
            let Some(spec) = application(object) else {
                return Vec::new();
            };
            let destination = spec.get("destination");
            let namespace = destination.and_then(|node| text(node, "namespace"));
            argo_sources(spec)
                .filter_map(|source| argo_release(object, source, namespace))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn helm_release<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Release<'t> {
    let target = text(spec, "targetNamespace");
    let composed = match target {
        Some(target) => format!("{target}-{}", object.name()),
        None => object.name().to_owned(),
    };
    let own = || {
        let chart = spec.at(&FieldPath::keys(&["chart", "spec"]));
        flux_chart(object, chart.or_else(|| spec.get("chart"))?)
    };
    let references = items(spec, "valuesFrom").map(ValuesEntry::From);
    let inline = spec.get("values").map(ValuesEntry::Mapping);
    let why = "`postRenderers` are not supported";
    let renderers = unread_list(spec, "postRenderers", why);
    Release {
        name: text(spec, "releaseName").map_or(composed, str::to_owned),
        namespace: target.or_else(|| object.deployed_namespace()),
        chart: match spec.get("chartRef") {
            Some(reference) => ChartName::Referenced(reference),
            None => own().map_or(ChartName::Unnamed("it names no chart"), ChartName::Written),
        },
        values: references.chain(inline).chain(renderers).collect(),
        node: spec,
        unsupported: Vec::new(),
    }
}

/// Reads a chart of Flux: the `spec` of a `HelmChart`, or the same fields in a `HelmRelease`. `object` contains it. The first
/// API has no `sourceRef`, but `git` with `path`, or `repository` with `name`.
#[must_use]
pub fn flux_chart<'t>(object: &Object<'t>, chart: NodeRef<'t>) -> Option<Chart<'t>> {
    let keys = ["chart", "name", "path"].into_iter();
    let node = keys
        .filter_map(|key| chart.get(key))
        .find(|node| node.text().is_some())?;
    let (git, source) = (text(chart, "git"), chart.get("sourceRef"));
    let kind = source.and_then(|source| text(source, "kind"));
    let url = text(chart, "repository").map(ChartRepository::Url);
    // A chart of a repository of charts may have the name of a folder.
    let may_be_folder = url.is_none() && !matches!(kind, Some("HelmRepository" | "OCIRepository"));
    let named = git.map_or_else(|| SourceName::of_reference(object, source), SourceName::Url);
    let of_source = || {
        let name = text(source?, "name")?;
        Some(ChartRepository::Source(
            kind.unwrap_or("HelmRepository"),
            name,
        ))
    };
    Some(Chart {
        node,
        version: chart.get("version"),
        repository: url.or_else(of_source),
        folder: may_be_folder.then_some(named),
        is_folder: may_be_folder && (source.is_some() || git.is_some()),
        files: items(chart, "valuesFiles").collect(),
    })
}

fn argo_release<'t>(
    object: &Object<'t>,
    source: NodeRef<'t>,
    namespace: Option<&'t str>,
) -> Option<Release<'t>> {
    let helm = source.get("helm");
    let of_helm = |key: &str| helm.and_then(|helm| helm.get(key));
    let list = |key: &str| of_helm(key).into_iter().flat_map(NodeRef::items);
    let text_of = |key: &str| of_helm(key).and_then(NodeRef::text);
    let url = text(source, "repoURL");
    let is_oci = url.is_some_and(|url| url.starts_with("oci://"));
    let registry = source.get("chart").filter(|chart| chart.text().is_some());
    let path = source.get("path").filter(|path| path.text().is_some());
    let node = registry
        .or(path)
        .or_else(|| source.get("repoURL").filter(|_| is_oci))?;
    let is_optional = text_of("ignoreMissingValueFiles") == Some("true");
    let files = list("valueFiles").map(|file| ValuesEntry::File(file, is_optional));
    // Argo CD ignores `values` if there is `valuesObject` (`pkg/apis/application/v1alpha1/values.go`).
    let object_values = of_helm("valuesObject").filter(|values| !values.is_null());
    let values = helm.and_then(|helm| helm.entry("values"));
    let values = values.filter(|entry| object_values.is_none() && !entry.value.is_null());
    let values = values.map(|entry| match entry.value.is_mapping() {
        true => ValuesEntry::Mapping(entry.value),
        false => ValuesEntry::Text(entry),
    });
    let parameters = list("parameters").filter_map(|pair| {
        let is_text = text(pair, "forceString") == Some("true");
        let name = text(pair, "name")?;
        Some(ValuesEntry::Parameter(name, pair.get("value")?, is_text))
    });
    let why = "`fileParameters` is not supported";
    let file_parameters = helm.and_then(|helm| unread_list(helm, "fileParameters", why));
    let unsupported = [
        ("kubeVersion", "`kubeVersion` is not supported"),
        ("apiVersions", "`apiVersions` is not supported"),
    ];
    let unsupported = unsupported.into_iter().filter(|(key, _)| {
        let is_set = text_of(key).is_some_and(|value| !value.is_empty());
        is_set || list(key).next().is_some()
    });
    Some(Release {
        name: text_of("releaseName")
            .unwrap_or_else(|| object.name())
            .to_owned(),
        namespace: text_of("namespace").or(namespace),
        chart: ChartName::Written(Chart {
            node,
            version: source.get("targetRevision"),
            repository: url.map(ChartRepository::Url),
            folder: path
                .filter(|_| registry.is_none())
                .map(|_| SourceName::of_argo(source)),
            is_folder: path.is_some() && registry.is_none(),
            files: Vec::new(),
        }),
        values: files
            .chain(values)
            .chain(object_values.map(ValuesEntry::Mapping))
            .chain(parameters)
            .chain(file_parameters)
            .collect(),
        node: source,
        unsupported: unsupported.map(|(_, why)| why).collect(),
    })
}

/// Reads the chart of a `fleet.yaml`.
///
/// Source: Fleet documentation, "fleet.yaml".
#[must_use]
pub fn fleet_chart<'t>(file: NodeRef<'t>) -> Option<Chart<'t>> {
    let helm = file.get("helm")?;
    let repository = text(helm, "repo");
    let mut names = ["chart", "repo"]
        .into_iter()
        .filter_map(|key| helm.get(key));
    let node = names.find(|node| node.text().is_some())?;
    let is_url = node.text().is_some_and(|name| name.contains("://"));
    Some(Chart {
        node,
        version: helm.get("version"),
        repository: repository.map(ChartRepository::Url),
        folder: None,
        is_folder: repository.is_none() && !is_url,
        files: items(helm, "valuesFiles").collect(),
    })
}

/// Reads a `HelmChart`, whose chart is never a folder of the tree. `set` takes precedence over `values`, and that over
/// `valuesContent`; a `HelmChartConfig` overrides its chart.
fn helm_chart<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Release<'t> {
    let chart = spec
        .get("chart")
        .filter(|_| spec.get("chartContent").is_none());
    let archive = "its chart is a compressed archive in `spec.chartContent`";
    Release {
        name: object.name().to_owned(),
        namespace: text(spec, "targetNamespace"),
        chart: chart.map_or(ChartName::Unnamed(archive), |node| {
            ChartName::Written(Chart {
                node,
                version: spec.get("version"),
                repository: text(spec, "repo").map(ChartRepository::Url),
                folder: None,
                is_folder: false,
                files: Vec::new(),
            })
        }),
        values: helm_chart_values(spec),
        node: spec,
        unsupported: Vec::new(),
    }
}

/// Returns the values in the `spec` of a `HelmChart` or a `HelmChartConfig`, without those of `set`.
fn helm_chart_values<'t>(spec: NodeRef<'t>) -> Vec<ValuesEntry<'t>> {
    let secrets = spec.entry("valuesSecrets");
    let why = "values come from Secrets, which are not read";
    let secrets = secrets.map(|entry| ValuesEntry::Unread(entry.key, why));
    let content = spec.entry("valuesContent").map(ValuesEntry::Text);
    let values = spec.get("values").filter(|values| values.is_mapping());
    let values = values.map(ValuesEntry::Mapping);
    secrets.into_iter().chain(content).chain(values).collect()
}

/// Returns the values that a `HelmChartConfig` sets.
#[must_use]
pub fn config_values<'t>(config: &Object<'t>) -> Vec<ValuesEntry<'t>> {
    let spec = config.node.get("spec");
    spec.map(helm_chart_values).unwrap_or_default()
}

/// Returns the single values of a `HelmChart`, which take precedence over all others.
pub fn single_values<'t>(spec: NodeRef<'t>) -> impl Iterator<Item = ValuesEntry<'t>> {
    let entries = spec.get("set").into_iter().flat_map(NodeRef::entries);
    entries.filter_map(|entry| {
        Some(ValuesEntry::Parameter(
            entry.key.text()?,
            entry.value,
            false,
        ))
    })
}

impl<'t> Object<'t> {
    /// Returns whether the objects may be in the same cluster, as far as this depends on the objects that deploy them.
    #[must_use]
    pub fn may_share_cluster(&self, other: &Object<'t>) -> bool {
        self.cluster
            .as_deref()
            .zip(other.cluster.as_deref())
            .is_none_or(|(one, other)| !one.differs_from(other))
    }

    /// Returns the cluster to which the object deploys others: the one that it names. What Flux or Argo CD deploys to
    /// its own cluster is in the cluster of the object itself, if that is known.
    #[must_use]
    pub fn target_cluster(&self) -> Option<Arc<Cluster>> {
        let target = named_cluster(self)?;
        let own = self.cluster.as_ref().filter(|_| target.is_own());
        Some(own.map_or_else(|| Arc::new(target), Arc::clone))
    }
}

/// Returns the cluster to which `object` deploys; `None` if it is of another kind, or if another tool fills in the
/// cluster.
///
/// Sources: Argo CD, `argoproj.io/v1alpha1` Application; Flux, `kustomize.toolkit.fluxcd.io/v1` Kustomization and
/// `helm.toolkit.fluxcd.io/v2` HelmRelease.
fn named_cluster(object: &Object<'_>) -> Option<Cluster> {
    let spec = || object.node.get("spec");
    match (object.group(), object.kind) {
        ("argoproj.io", "Application") => of_argo(spec()?.get("destination")?),
        ("kustomize.toolkit.fluxcd.io", "Kustomization")
        | ("helm.toolkit.fluxcd.io", "HelmRelease") => of_flux(spec()?.get("kubeConfig")),
        _ => None,
    }
}

fn of_argo(destination: NodeRef<'_>) -> Option<Cluster> {
    let text = |key| destination.get(key).and_then(NodeRef::text);
    let texts = [text("server"), text("name")];
    if texts
        .iter()
        .flatten()
        .any(|text| placeholder::contains(text))
    {
        return None;
    }
    let [server, name] = texts.map(|text| text.filter(|text| !text.is_empty()));
    let own = (name == Some(ARGO_NAME)).then_some(ARGO_SERVER);
    let server = server.or(own);
    (server.is_some() || name.is_some()).then(|| Cluster::Argo {
        server: server.map(|server| server.trim_end_matches('/').to_owned()),
        name: name.map(str::to_owned),
    })
}

fn of_flux(config: Option<NodeRef<'_>>) -> Option<Cluster> {
    let Some(config) = config else {
        return Some(Cluster::Flux { config: None });
    };
    let mut references = ["secretRef", "configMapRef"].iter();
    let name = references.find_map(|key| config.get(key)?.get("name")?.text())?;
    (!placeholder::contains(name)).then(|| Cluster::Flux {
        config: Some(name.to_owned()),
    })
}

/// Returns the entry for a list that is not read; `None` if it is empty or missing.
fn unread_list<'t>(node: NodeRef<'t>, key: &str, why: &'static str) -> Option<ValuesEntry<'t>> {
    let entry = node.entry(key)?;
    let is_set = entry.value.items().len() > 0;
    is_set.then_some(ValuesEntry::Unread(entry.key, why))
}

fn text<'t>(node: NodeRef<'t>, key: &str) -> Option<&'t str> {
    node.get(key).and_then(NodeRef::text)
}

fn items<'t>(node: NodeRef<'t>, key: &str) -> impl Iterator<Item = NodeRef<'t>> {
    node.get(key).into_iter().flat_map(NodeRef::items)
}
