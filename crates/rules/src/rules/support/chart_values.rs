//! The values that a `HelmRelease` of Flux or an `Application` of Argo CD sets for a Helm chart.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;

/// The values that an object sets for a chart.
pub(in crate::rules) struct ChartValues<'s, 't> {
    /// The `HelmRelease` or `Application`.
    pub(in crate::rules) object: &'s Object<'t>,
    /// The version of the chart, as written.
    pub(in crate::rules) version: Option<&'t str>,
    /// The values.
    pub(in crate::rules) values: NodeRef<'t>,
}

/// Iterates over the objects that set values for `chart`; none if the settings exclude a mesh. Values in
/// other files, and values that an `Application` contains as text, are ignored.
pub(in crate::rules) fn of_chart<'s, 't>(
    cx: &RuleContext<'s, 't>,
    chart: &'static str,
) -> impl Iterator<Item = ChartValues<'s, 't>> + use<'s, 't> {
    let may_have_mesh = cx.may_have_mesh();
    cx.context
        .inventory
        .pod_creators
        .iter()
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
