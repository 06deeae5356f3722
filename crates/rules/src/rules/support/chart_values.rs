//! The values that a `HelmRelease` of Flux or an `Application` of Argo CD sets for a Helm chart.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::kube::delivery::{ChartName, ValuesEntry, releases};
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
    let objects = cx.context.inventory.pod_creators.iter();
    let releases = objects.filter(move |_| may_have_mesh).flat_map(|object| {
        releases(object)
            .into_iter()
            .map(move |release| (object, release))
    });
    releases.filter_map(move |(object, release)| {
        let ChartName::Written(written) = release.chart else {
            return None;
        };
        let mut values = release
            .values
            .into_iter()
            .filter_map(|values| match values {
                ValuesEntry::Mapping(node) => Some(node),
                _ => None,
            });
        (written.node.text() == Some(chart)).then_some(())?;
        Some(ChartValues {
            object,
            version: written.version.and_then(NodeRef::text),
            values: values.next()?,
        })
    })
}
