//! `HelmRelease`s of Flux.
//!
//! Source: helm-controller 1.3, `docs/spec/v2/helmreleases.md`; source-controller, `HelmRepository`, `OCIRepository`.

use meshprobe_deploy::gitops::configs::ConfigReference;
use meshprobe_deploy::gitops::named_source::SourceName;
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::Context;
use meshprobe_yaml::{FieldPath, NodeRef};

use super::chart_path::chart_folder;
use super::chart_release::{ChartRelease, HelmInput, local_file, text};
use super::target_path::values_at;

/// Returns what a `HelmRelease` releases; `None` if it has no `spec`.
pub(super) fn release<'t>(context: &Context<'t>, object: &Object<'t>) -> Option<ChartRelease> {
    let spec = object.node.get("spec")?;
    let target = text(spec, "targetNamespace");
    let composed = match target {
        Some(target) => format!("{target}-{}", object.name()),
        None => object.name().to_owned(),
    };
    let mut release = ChartRelease {
        input: HelmInput {
            name: text(spec, "releaseName").map_or(composed, str::to_owned),
            namespace: target
                .or_else(|| object.deployed_namespace())
                .map(str::to_owned),
            ..HelmInput::default()
        },
        ..ChartRelease::default()
    };
    let named = if let Some(reference) = spec.get("chartRef") {
        release.chart_span = Some(reference.span());
        let chart = referenced_chart(context, reference);
        match chart {
            Some((object, spec)) => set_chart_of(context, object, spec, &mut release),
            None => {
                let kind = text(reference, "kind").unwrap_or("OCIRepository");
                let name = text(reference, "name").unwrap_or_default();
                let url = url_of(context, kind, name);
                url.unwrap_or(name).clone_into(&mut release.input.chart);
                Some(())
            }
        }
    } else {
        set_chart(context, object, spec, &mut release)
    };
    if named.is_none() {
        release.missing_chart = Some("it names no chart".to_owned());
    }
    if spec
        .get("postRenderers")
        .is_some_and(|list| list.items().len() > 0)
    {
        let why = "`postRenderers` are not supported";
        release.unknown.push(why.to_owned());
    }
    let references = spec.get("valuesFrom").into_iter().flat_map(NodeRef::items);
    for reference in references {
        add_values_from(context, object, reference, &mut release);
    }
    let values = spec
        .get("values")
        .filter(|values| values.entries().len() > 0);
    if let Some(values) = values {
        release.add_values(values);
    }
    Some(release)
}

/// Adds the values of a ConfigMap or Secret. An optional one that is not in the tree is ignored.
fn add_values_from(
    context: &Context<'_>,
    object: &Object<'_>,
    reference: NodeRef<'_>,
    release: &mut ChartRelease,
) {
    let kind = text(reference, "kind").unwrap_or("ConfigMap");
    let name = text(reference, "name").unwrap_or_default();
    let wanted = ConfigReference {
        kind,
        name,
        namespace: object.deployed_namespace(),
    };
    let key = text(reference, "valuesKey").unwrap_or("values.yaml");
    let value = context
        .inventory
        .config_value(context.sources, (wanted, key), object);
    let is_optional = text(reference, "optional") == Some("true");
    let value = value.map(|found| found.map(|found| found.text));
    match (value, text(reference, "targetPath")) {
        (Ok(Some(values)), None) => release.input.texts.push(values),
        (Ok(Some(value)), Some(path)) => match values_at(path, &value) {
            Some(values) => release.input.texts.push(values),
            None => release
                .unknown
                .push(format!("the `targetPath` `{path}` is not supported")),
        },
        (Ok(None), _) if is_optional => {}
        (Ok(None), _) => release
            .unknown
            .push(format!("{kind} `{name}` is not in the tree")),
        (Err(why), _) => release.unknown.push(why),
    }
}

/// Sets the chart that the release names itself.
fn set_chart<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    spec: NodeRef<'t>,
    release: &mut ChartRelease,
) -> Option<()> {
    let chart = spec
        .at(&FieldPath::keys(&["chart", "spec"]))
        .or_else(|| spec.get("chart"))?;
    release.chart_span = chart.get("chart").map(NodeRef::span);
    set_chart_of(context, object, chart, release)
}

/// Sets the chart that the `spec` of a `HelmChart` names. `object` contains it.
fn set_chart_of<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    chart: NodeRef<'t>,
    release: &mut ChartRelease,
) -> Option<()> {
    let input = &mut release.input;
    // The first API has no `sourceRef`, but `git` with `path`, or `repository` with `name`.
    let git = text(chart, "git");
    let keys = ["chart", "name", "path"].iter();
    let name = keys.filter_map(|key| text(chart, key)).next()?;
    let near = object.path();
    let files = chart
        .get("valuesFiles")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(NodeRef::text);
    let source = chart.get("sourceRef");
    let kind = source.and_then(|source| text(source, "kind"));
    // A chart of a repository of charts may have the name of a folder.
    let is_path = kind.is_none_or(|kind| !matches!(kind, "HelmRepository" | "OCIRepository"));
    let source_name = git.map_or_else(|| SourceName::of_reference(object, source), SourceName::Url);
    let folder = is_path.then(|| chart_folder(context, object, &source_name, name));
    match folder {
        Some(Ok(folder)) => {
            folder.clone_into(&mut input.chart);
            input.is_local = true;
            for file in files {
                match local_file(context, file, near) {
                    Some(path) => input.values.push(path),
                    None => {
                        let why = format!("the values file `{file}` is not in the tree");
                        release.unknown.push(why);
                    }
                }
            }
            return Some(());
        }
        Some(Err(missing)) if source.is_some() || git.is_some() => {
            name.clone_into(&mut input.chart);
            release.missing_chart = Some(missing);
            return Some(());
        }
        Some(Err(_)) | None => {}
    }
    let source_name = source.and_then(|source| text(source, "name"));
    let kind = kind.unwrap_or("HelmRepository");
    let url = text(chart, "repository").or_else(|| url_of(context, kind, source_name?));
    name.clone_into(&mut input.chart);
    input.repository = url.map(str::to_owned);
    Some(())
}

/// Returns the `HelmChart` that a release refers to, and its `spec`, if it is in the tree.
fn referenced_chart<'a, 't>(
    context: &'a Context<'t>,
    reference: NodeRef<'_>,
) -> Option<(&'a Object<'t>, NodeRef<'t>)> {
    let name = text(reference, "name").unwrap_or_default();
    let is_chart = text(reference, "kind") == Some("HelmChart");
    let chart = is_chart.then(|| source(context, "HelmChart", name))??;
    Some((chart, chart.node.get("spec")?))
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
