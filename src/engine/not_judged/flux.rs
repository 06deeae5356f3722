//! `HelmRelease`s of Flux.
//!
//! Source: helm-controller 1.3, `docs/spec/v2/helmreleases.md`; source-controller, `HelmRepository`, `OCIRepository`.

use crate::context::Context;
use crate::kube::Object;
use crate::yaml::{FieldPath, NodeRef};

use super::chart_release::{ChartRelease, local_chart, local_file, text};
use super::helm_command::HelmCommand;

/// Returns what a `HelmRelease` releases; `None` if it names no chart.
pub(super) fn release(context: &Context<'_>, object: &Object<'_>) -> Option<ChartRelease> {
    let spec = object.node.get("spec")?;
    let mut command = HelmCommand {
        name: text(spec, "releaseName")
            .unwrap_or_else(|| object.name())
            .to_owned(),
        namespace: text(spec, "targetNamespace")
            .or_else(|| object.namespace())
            .map(str::to_owned),
        ..HelmCommand::default()
    };
    let mut missing = Vec::new();
    if let Some(reference) = spec.get("chartRef") {
        set_referenced_chart(context, reference, &mut command, &mut missing);
    } else {
        set_chart(context, object, spec, &mut command, &mut missing)?;
    }
    let has_values = spec
        .get("values")
        .is_some_and(|values| values.entries().len() > 0);
    command.inline = has_values.then(|| {
        let expression = format!(
            "select(.kind == \"HelmRelease\" and .metadata.name == \"{}\") | .spec.values",
            object.name()
        );
        (object.path().to_string(), expression)
    });
    let references = spec.get("valuesFrom").into_iter().flat_map(NodeRef::items);
    missing.extend(references.map(|reference| {
        let kind = text(reference, "kind").unwrap_or("ConfigMap");
        let name = text(reference, "name").unwrap_or_default();
        format!("the values of {kind} `{name}` are not part of the command")
    }));
    Some(ChartRelease { command, missing })
}

/// Sets the chart that the release names itself.
fn set_chart(
    context: &Context<'_>,
    object: &Object<'_>,
    spec: NodeRef<'_>,
    command: &mut HelmCommand,
    missing: &mut Vec<String>,
) -> Option<()> {
    let chart = spec
        .at(&FieldPath::keys(&["chart", "spec"]))
        .or_else(|| spec.get("chart"))?;
    let name = text(chart, "chart").or_else(|| text(chart, "name"))?;
    let near = object.path();
    let files = chart
        .get("valuesFiles")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(NodeRef::text);
    if let Some(folder) = local_chart(context, name, near) {
        folder.clone_into(&mut command.chart);
        command.is_local = true;
        for file in files {
            match local_file(context, file, near) {
                Some(path) => command.values.push(path),
                None => missing.push(format!("the values file `{file}` is not in the tree")),
            }
        }
        return Some(());
    }
    command.version = text(chart, "version").map(str::to_owned);
    let source = chart.get("sourceRef");
    let kind = source.and_then(|source| text(source, "kind"));
    let source_name = source.and_then(|source| text(source, "name"));
    let kind = kind.unwrap_or("HelmRepository");
    let url = text(chart, "repository").or_else(|| url_of(context, kind, source_name?));
    set_remote_chart(name, url, command);
    if url.is_none() {
        let source_name = source_name.unwrap_or_default();
        missing.push(format!("{kind} `{source_name}` is not in the tree"));
    }
    Some(())
}

/// Sets the chart of an `OCIRepository` or a `HelmChart`.
fn set_referenced_chart(
    context: &Context<'_>,
    reference: NodeRef<'_>,
    command: &mut HelmCommand,
    missing: &mut Vec<String>,
) {
    let kind = text(reference, "kind").unwrap_or("OCIRepository");
    let name = text(reference, "name").unwrap_or_default();
    let tag = source(context, kind, name).and_then(|source| {
        let reference = source.node.get("spec")?.get("ref")?;
        text(reference, "tag").or_else(|| text(reference, "semver"))
    });
    command.version = tag.map(str::to_owned);
    match url_of(context, kind, name) {
        Some(url) => url.clone_into(&mut command.chart),
        None => {
            name.clone_into(&mut command.chart);
            missing.push(format!("{kind} `{name}` is not in the tree"));
        }
    }
}

/// Sets a chart of a chart repository. A chart in an OCI registry has no repository, but an address.
fn set_remote_chart(name: &str, url: Option<&str>, command: &mut HelmCommand) {
    match url {
        Some(url) if url.starts_with("oci://") => {
            command.chart = format!("{}/{name}", url.trim_end_matches('/'));
        }
        url => {
            name.clone_into(&mut command.chart);
            command.repository = Some(url.unwrap_or("URL").to_owned());
        }
    }
}

fn source<'a, 't>(context: &'a Context<'t>, kind: &str, name: &str) -> Option<&'a Object<'t>> {
    let mut objects = context.inventory.pod_creators.iter();
    objects.find(|object| {
        object.group() == "source.toolkit.fluxcd.io" && object.kind == kind && object.name() == name
    })
}

fn url_of<'t>(context: &Context<'t>, kind: &str, name: &str) -> Option<&'t str> {
    let spec = source(context, kind, name)?.node.get("spec")?;
    text(spec, "url")
}
