//! The release of Kuma that an object installs.
//!
//! Source: `deployments/charts/kuma/Chart.yaml` of the tags 1.1.0 to 2.0.0: the version of the chart is that of Kuma since
//! 1.6; before that, 0.5 installs 1.1, and 0.9 installs 1.5.

use meshprobe_yaml::Span;

use crate::kube::Object;
use crate::kube::delivery::{ChartName, Release, releases};
use crate::mesh::version::Version;

/// The name of the image of the control plane, and of the chart.
const IMAGE: &str = "kuma-cp";
const CHART: &str = "kuma";
/// The registry folder of Kong Mesh, whose releases have other numbers.
const OTHER_PRODUCT: &str = "kong";

/// Returns the release that an object installs, with the place that states it: the image of the control plane, or the
/// version of the chart.
pub(super) fn installed(object: &Object<'_>) -> Option<(Version, Span)> {
    let stated = match (object.group(), object.kind) {
        ("apps", "Deployment") => image(object)?,
        ("helm.toolkit.fluxcd.io", "HelmRelease") | ("argoproj.io", "Application") => {
            releases(object).iter().find_map(chart_version)?
        }
        _ => return None,
    };
    // Builds between releases have the number 0.0.0.
    (stated.0.major > 0).then_some(stated)
}

fn image(object: &Object<'_>) -> Option<(Version, Span)> {
    let template = object.node.get("spec")?.get("template")?;
    let mut containers = template.get("spec")?.get("containers")?.items();
    containers.find_map(|container| {
        let node = container.get("image")?;
        let name = node.text()?.split('@').next()?;
        let (path, tag) = name.rsplit_once(':')?;
        let mut folders = path.rsplit('/');
        let is_kuma = folders.next() == Some(IMAGE) && folders.next() != Some(OTHER_PRODUCT);
        let version = tag.parse().ok().filter(|_| is_kuma)?;
        Some((version, node.span()))
    })
}

fn chart_version(release: &Release<'_>) -> Option<(Version, Span)> {
    let ChartName::Written(chart) = &release.chart else {
        return None;
    };
    let node = chart.version.filter(|_| chart.node.text() == Some(CHART))?;
    let version = release_of(node.text()?)?;
    let version = match (version.major, version.minor.checked_sub(4)) {
        (0, Some(minor)) if minor > 0 => Version::new(1, minor),
        _ => version,
    };
    Some((version, node.span()))
}

/// Returns the release of a chart version. Of a range, this is the lowest release, unless the range goes beyond 1.x: later
/// releases differ.
fn release_of(text: &str) -> Option<Version> {
    let mut parts = text.split([',', ' ']).filter(|part| part.contains('.'));
    let lowest = parts.next()?.trim_start_matches(['=', '~', '>', '^']);
    let version: Version = lowest.parse().ok()?;
    let bound = parts.find_map(|part| part.strip_prefix('<')?.parse::<Version>().ok());
    let is_closed = match text.chars().next()? {
        '^' => version.major == 1,
        '>' => version.major == 1 && bound.is_some_and(|bound| bound <= Version::new(2, 0)),
        _ => true,
    };
    (is_closed && !text.contains("||")).then_some(version)
}
