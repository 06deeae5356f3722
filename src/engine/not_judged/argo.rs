//! Applications of Argo CD with a chart.
//!
//! Source: Argo CD 3.1, `docs/user-guide/helm.md`, `docs/user-guide/multiple_sources.md`.

use meshprobe_deploy::gitops::named_source::SourceName;
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::Context;
use meshprobe_yaml::{FieldPath, NodeRef};

use super::chart_path::{chart_folder, has_folder};
use super::chart_release::{ChartRelease, HelmInput, file_of_chart, local_file, text};

/// Returns the charts among the sources of an Application, or of the template of an `ApplicationSet`.
///
/// An `ApplicationSet` whose Applications are in the tree has none itself.
pub(super) fn releases<'t>(context: &Context<'t>, object: &Object<'t>) -> Vec<ChartRelease> {
    if object.kind == "ApplicationSet" && is_expanded(context, object) {
        return Vec::new();
    }
    let route = match object.kind {
        "Application" => FieldPath::keys(&["spec"]),
        _ => FieldPath::keys(&["spec", "template", "spec"]),
    };
    let Some(spec) = object.node.at(&route) else {
        return Vec::new();
    };
    let several = spec
        .get("sources")
        .filter(|sources| sources.items().len() > 0);
    let release = |source: NodeRef<'t>| {
        let destination = spec.get("destination");
        let namespace = destination.and_then(|destination| text(destination, "namespace"));
        release(context, object, source, namespace)
    };
    match several {
        Some(sources) => sources.items().filter_map(release).collect(),
        None => spec.get("source").and_then(release).into_iter().collect(),
    }
}

/// Returns whether an Application or a source of it contains placeholders that the generators of its set do not fill in.
fn is_template(context: &Context<'_>, object: &Object<'_>, source: NodeRef<'_>) -> bool {
    let destination = object.node.at(&FieldPath::keys(&["spec", "destination"]));
    let namespace = destination.and_then(|destination| text(destination, "namespace"));
    let texts = [
        object.name(),
        namespace.unwrap_or_default(),
        source.source(),
    ];
    let is_open = texts.iter().any(|text| text.contains("{{"));
    is_open
        && (object.kind == "ApplicationSet"
            || counterpart(context, object, "ApplicationSet").is_some())
}

/// Returns whether the Applications that an `ApplicationSet` generates are in the tree.
fn is_expanded(context: &Context<'_>, set: &Object<'_>) -> bool {
    counterpart(context, set, "Application").is_some()
}

/// Returns the object of another kind in the document of `object`: an `ApplicationSet` and the Applications that it
/// generates have the same document.
fn counterpart<'c, 't>(
    context: &'c Context<'t>,
    object: &Object<'_>,
    kind: &str,
) -> Option<&'c Object<'t>> {
    let mut objects = context.inventory.pod_creators.iter();
    objects.find(|other| {
        other.kind == kind
            && other.group() == object.group()
            && other.document.index == object.document.index
            && other.path() == object.path()
    })
}

/// Returns the chart of a source; `None` if the source has none.
fn release<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    source: NodeRef<'t>,
    namespace: Option<&str>,
) -> Option<ChartRelease> {
    let helm = source.get("helm");
    let mut missing_chart = None;
    let mut input = HelmInput {
        name: helm
            .and_then(|helm| text(helm, "releaseName"))
            .unwrap_or_else(|| object.name())
            .to_owned(),
        namespace: namespace.map(str::to_owned),
        ..HelmInput::default()
    };
    if let Some(chart) = text(source, "chart") {
        chart.clone_into(&mut input.chart);
        input.repository = text(source, "repoURL").map(str::to_owned);
    } else {
        let path = text(source, "path")?;
        let name = SourceName::of_argo(source);
        match chart_folder(context, object, &name, path) {
            Ok(folder) => {
                folder.clone_into(&mut input.chart);
                input.is_local = true;
            }
            // The folder contains manifests, or its absence is reported for the object.
            Err(_) if helm.is_none() || has_folder(context, object, &name, path) => return None,
            Err(missing) => {
                path.clone_into(&mut input.chart);
                missing_chart = Some(missing);
            }
        }
    }
    let chart = source.get("chart").or_else(|| source.get("path"));
    let mut release = ChartRelease {
        input,
        missing_chart,
        chart_span: chart.map(NodeRef::span),
        ..ChartRelease::default()
    };
    if let Some(helm) = helm {
        add_values(context, object, helm, &mut release);
    }
    if is_template(context, object, source) {
        let why = "the template of the ApplicationSet is not expanded";
        release.unknown.push(why.to_owned());
    }
    Some(release)
}

fn add_values(
    context: &Context<'_>,
    object: &Object<'_>,
    helm: NodeRef<'_>,
    release: &mut ChartRelease,
) {
    let input = &mut release.input;
    let list = |key: &str| helm.get(key).into_iter().flat_map(NodeRef::items);
    for file in list("valueFiles").filter_map(NodeRef::text) {
        // `$name/path` is a file in another source; other paths are relative to the chart.
        let found = match file.strip_prefix('$') {
            Some(rest) => {
                let path = rest.split_once('/').map_or(rest, |(_, path)| path);
                local_file(context, path, object.path())
            }
            None if input.is_local => match file.strip_prefix('/') {
                Some(path) => local_file(context, path, object.path()),
                None => file_of_chart(context, &input.chart, file, object.path()),
            },
            None => None,
        };
        match found {
            Some(path) => input.values.push(path),
            None if text(helm, "ignoreMissingValueFiles") == Some("true") => {}
            None => {
                let why = format!("the values file `{file}` is not in the tree");
                release.unknown.push(why);
            }
        }
    }
    let key = ["valuesObject", "values"]
        .into_iter()
        .find(|key| helm.get(key).is_some_and(|values| !values.is_null()));
    for pair in list("parameters") {
        let (Some(name), Some(value)) = (text(pair, "name"), text(pair, "value")) else {
            continue;
        };
        let pairs = match text(pair, "forceString") {
            Some("true") => &mut input.set_strings,
            _ => &mut input.set,
        };
        pairs.push((name.to_owned(), escaped(value)));
    }
    if let Some(namespace) = text(helm, "namespace") {
        input.namespace = Some(namespace.to_owned());
    }
    for key in ["fileParameters", "kubeVersion", "apiVersions"] {
        let is_set = text(helm, key).is_some_and(|value| !value.is_empty());
        if is_set || list(key).next().is_some() {
            let why = format!("`{key}` is not supported");
            release.unknown.push(why);
        }
    }
    match key.and_then(|key| helm.get(key)) {
        Some(values) if values.is_mapping() => release.add_values(values),
        Some(values) => {
            let values = values.text().unwrap_or_default().to_owned();
            release.input.texts.push(values);
        }
        None => {}
    }
}

/// Escapes the commas of a value, except in a list, as Argo CD does.
/// Source: Argo CD 3.1, `util/helm/cmd.go`, `cleanSetParameters`.
fn escaped(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    value.replace("\\,", ",").replace(',', "\\,")
}
