//! Values that the tree gives to a Helm chart: a `HelmRelease` of Flux, an `Application` of Argo CD.

use super::Scene;
use crate::kube::Object;
use crate::yaml::NodeRef;

/// A chart with the values that are written for it.
pub(super) struct ChartValues<'s, 't> {
    /// The object that holds them.
    pub(super) object: &'s Object<'t>,
    /// `version` of the chart, as it is written.
    pub(super) version: Option<&'t str>,
    /// The values.
    pub(super) values: NodeRef<'t>,
}

/// Iterates over the values of a chart. Those of other files, and text inside of an `Application`,
/// are not looked at.
pub(super) fn of_chart<'s, 't>(
    scene: &Scene<'s, 't>,
    chart: &'static str,
) -> impl Iterator<Item = ChartValues<'s, 't>> + use<'s, 't> {
    let makers = scene.context.inventory.makers.iter();
    let may_have_mesh = scene.may_have_mesh();
    makers
        .filter(move |_| may_have_mesh)
        .filter_map(move |object| values(object, chart))
}

fn values<'s, 't>(object: &'s Object<'t>, chart: &str) -> Option<ChartValues<'s, 't>> {
    let spec = || object.node.get("spec");
    let (source, values) = match object.kind {
        "HelmRelease" => (spec()?.get("chart")?.get("spec")?, spec()?.get("values")?),
        "Application" => {
            let source = spec()?.get("source")?;
            (source, source.get("helm")?.get("valuesObject")?)
        }
        _ => return None,
    };
    let version = source
        .get("version")
        .or_else(|| source.get("targetRevision"));
    (source.get("chart")?.text() == Some(chart)).then(|| ChartValues {
        object,
        version: version.and_then(NodeRef::text),
        values,
    })
}
