//! Applications of Argo CD with a chart.
//!
//! Source: Argo CD 3.1, `docs/user-guide/helm.md`, `docs/user-guide/multiple_sources.md`.

use crate::context::Context;
use crate::kube::Object;
use crate::yaml::{FieldPath, NodeRef};

use super::chart_release::{ChartRelease, file_of_chart, local_chart, local_file, text};
use super::helm_command::HelmCommand;

/// Returns the charts among the sources of an Application, or of the template of an `ApplicationSet`.
pub(super) fn releases(context: &Context<'_>, object: &Object<'_>) -> Vec<ChartRelease> {
    let (prefix, route) = if object.kind == "Application" {
        (".spec", FieldPath::keys(&["spec"]))
    } else {
        (
            ".spec.template.spec",
            FieldPath::keys(&["spec", "template", "spec"]),
        )
    };
    let Some(spec) = object.node.at(&route) else {
        return Vec::new();
    };
    let several = spec
        .get("sources")
        .filter(|sources| sources.items().len() > 0);
    let release = |source: NodeRef<'_>, field: String| {
        let destination = spec.get("destination");
        let namespace = destination.and_then(|destination| text(destination, "namespace"));
        release(context, object, source, namespace, &field)
    };
    match several {
        Some(sources) => sources
            .items()
            .enumerate()
            .filter_map(|(index, source)| release(source, format!("{prefix}.sources[{index}]")))
            .collect(),
        None => spec
            .get("source")
            .and_then(|source| release(source, format!("{prefix}.source")))
            .into_iter()
            .collect(),
    }
}

/// Returns the chart of a source; `None` if the source has none. `field` is the source in the notation of `yq`.
fn release(
    context: &Context<'_>,
    object: &Object<'_>,
    source: NodeRef<'_>,
    namespace: Option<&str>,
    field: &str,
) -> Option<ChartRelease> {
    let near = object.path();
    let helm = source.get("helm");
    let mut command = HelmCommand {
        name: helm
            .and_then(|helm| text(helm, "releaseName"))
            .unwrap_or_else(|| object.name())
            .to_owned(),
        namespace: namespace.map(str::to_owned),
        ..HelmCommand::default()
    };
    if let Some(chart) = text(source, "chart") {
        let url = text(source, "repoURL").unwrap_or("URL");
        command.version = text(source, "targetRevision").map(str::to_owned);
        if url.contains("://") && !url.starts_with("oci://") {
            chart.clone_into(&mut command.chart);
            command.repository = Some(url.to_owned());
        } else {
            let registry = url.trim_start_matches("oci://").trim_end_matches('/');
            command.chart = format!("oci://{registry}/{chart}");
        }
    } else {
        local_chart(context, text(source, "path")?, near)?.clone_into(&mut command.chart);
        command.is_local = true;
    }
    let mut release = ChartRelease {
        command,
        ..ChartRelease::default()
    };
    if let Some(helm) = helm {
        add_values(context, object, helm, field, &mut release);
    }
    if object.kind == "ApplicationSet" && source.source().contains("{{") {
        let why = "the template of the ApplicationSet is not expanded";
        release.unknown.push(why.to_owned());
    }
    Some(release)
}

fn add_values(
    context: &Context<'_>,
    object: &Object<'_>,
    helm: NodeRef<'_>,
    field: &str,
    release: &mut ChartRelease,
) {
    let command = &mut release.command;
    let list = |key: &str| helm.get(key).into_iter().flat_map(NodeRef::items);
    for file in list("valueFiles").filter_map(NodeRef::text) {
        // `$name/path` is a file in another source; other paths are relative to the chart.
        let found = match file.strip_prefix('$') {
            Some(rest) => {
                let path = rest.split_once('/').map_or(rest, |(_, path)| path);
                local_file(context, path, object.path())
            }
            None if command.is_local => match file.strip_prefix('/') {
                Some(path) => local_file(context, path, object.path()),
                None => file_of_chart(context, &command.chart, file, object.path()),
            },
            None => None,
        };
        match found {
            Some(path) => command.values.push(path),
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
    command.inline = key.map(|key| {
        let expression = format!(
            "select(.kind == \"{}\" and .metadata.name == \"{}\") | {field}.helm.{key}",
            object.kind,
            object.name()
        );
        (object.path().to_string(), expression)
    });
    for pair in list("parameters") {
        let (Some(name), Some(value)) = (text(pair, "name"), text(pair, "value")) else {
            continue;
        };
        let pairs = match text(pair, "forceString") {
            Some("true") => &mut command.set_strings,
            _ => &mut command.set,
        };
        pairs.push((name.to_owned(), escaped(value)));
    }
    if let Some(namespace) = text(helm, "namespace") {
        command.namespace = Some(namespace.to_owned());
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
            release.command.texts.push(values);
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
