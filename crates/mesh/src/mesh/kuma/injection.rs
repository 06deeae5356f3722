//! Decides which pods Kuma's webhook injects, and which it rejects because of their injection label.
//!
//! The values of switches.
//!
//! Whether Kuma's own sidecar is a native sidecar.
//!
//! Source: `experimental.sidecarContainers`, on by default since 2.14.0 (2f9d353dd6) and without an opt-out in 3
//! (d18df677b7). Kubernetes before 1.29 does not have native sidecars, so the default remains an assumption.
//!
//! The release of Kuma that an image or a chart installs.
//!
//! Source: `deployments/charts/kuma/Chart.yaml` of the tags 1.1.0 to 2.0.0: the version of the chart is that of Kuma since
//! 1.6; before that, 0.5 installs 1.1, and 0.9 installs 1.5.
//!
//! The values of annotations, as `pkg/plugins/runtime/k8s/metadata/annotations.go` and
//! `pkg/transparentproxy/config` of v2.14.3 and 348b6528 parse them.

use meshprobe_yaml::Entry;

use super::keys::{INJECTION, SIDECAR};
use crate::finding::Certainty;
use crate::kube::Object;
use crate::mesh::model::{
    Membership, PodInput, SWITCH_VALUES, by_option, by_switch, with_container, without_namespace,
};
use crate::mesh::{Fact, Version};

/// Decides whether the webhook injects the pod.
pub(super) fn injection(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    let message = "the manifest contains the sidecar of Kuma";
    if let Some(fact) = with_container(input, SIDECAR, message) {
        return fact;
    }
    let template = &input.workload.template;
    let of_pod = (template.label(INJECTION), template.annotation(INJECTION));
    if let Some(entry) = switch(of_pod, input.release) {
        return read(object, &entry);
    }
    if let Some(hypothesis) = &input.supposed {
        return by_option(hypothesis);
    }
    let Some(namespace) = input.namespace else {
        return without_namespace(input);
    };
    let of_namespace = (namespace.label(INJECTION), namespace.annotation(INJECTION));
    if let Some(entry) = switch(of_namespace, input.release) {
        return read(namespace, &entry);
    }
    let message = format!(
        "Namespace `{}` has no label `{INJECTION}`",
        namespace.name()
    );
    let place = namespace.label_at(namespace.name_span(), message);
    let is_annotated = of_pod.1.or(of_namespace.1).is_some();
    match input.release {
        // Another release may read the annotation.
        None if is_annotated => Fact {
            certainty: Certainty::Default,
            ..Fact::known(Membership::Outside, place)
        },
        _ => Fact::known(Membership::Outside, place),
    }
}

/// The first release that reads the label. Its patch level 0 does not.
const LABEL_SINCE: Version = Version::new(1, 4);
/// The first release that does not read the annotation.
const ANNOTATION_UNTIL: Version = Version::new(2, 2);

/// Returns whether a release reads the annotation; without a release, whether the latest does.
#[must_use]
pub fn reads_annotation(release: Option<Version>) -> bool {
    release.is_some_and(|release| release < ANNOTATION_UNTIL)
}

/// Returns the entry that a release reads of the label and the annotation of one object.
///
/// Source: `needInject` in `pkg/plugins/runtime/k8s/webhooks/injector/injector.go` of 0.7.3 to 1.4.0 (the annotation),
/// 1.4.1 to 2.1.7 (the label, then the annotation, first of the pod) and 2.2.0 (the label).
fn switch<'t>(
    (label, annotation): (Option<Entry<'t>>, Option<Entry<'t>>),
    release: Option<Version>,
) -> Option<Entry<'t>> {
    let is_before_label = release.is_some_and(|release| {
        release < LABEL_SINCE || release == LABEL_SINCE && release.patch() == Some(0)
    });
    let label = label.filter(|_| !is_before_label);
    label.or(annotation.filter(|_| reads_annotation(release)))
}

fn read(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let switch = parse_switch(entry.value.text().unwrap_or_default());
    by_switch(object, entry, switch, SWITCH_VALUES)
}

/// Parses a switch; `None` for a value because of which the webhook rejects the pod.
pub(super) fn parse_switch(value: &str) -> Option<bool> {
    match value {
        "enabled" | "true" | "yes" => Some(true),
        "disabled" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns whether a value switches something off.
#[must_use]
pub fn switches_off(value: &str) -> bool {
    parse_switch(value) == Some(false)
}

/// Returns whether Kuma accepts a value of its label; it rejects pods with any other value.
#[must_use]
pub fn is_switch(value: &str) -> bool {
    parse_switch(value).is_some()
}

const SETTLE_NATIVE: &str = "--assume native-sidecars=true|false";

/// Returns whether the sidecar starts before the init containers of the pod.
pub(super) fn native_sidecars(input: &PodInput<'_, '_>) -> Fact<bool> {
    if let Some(fact) = &input.native_sidecars {
        return fact.clone();
    }
    let is_old = input
        .release
        .is_some_and(|release| release < Version::new(2, 14));
    let message = match is_old {
        true => "Kuma's sidecar is not native by default before 2.14",
        false => "Kuma's sidecar is native by default since 2.14",
    };
    Fact::assumed(!is_old, message, Some(SETTLE_NATIVE))
}

/// The name of the image of the control plane, and of the chart.
const IMAGE: &str = "kuma-cp";
const CHART: &str = "kuma";
/// The registry folder of Kong Mesh, whose releases have other numbers.
const OTHER_PRODUCT: &str = "kong";

/// Returns the release of an image of the control plane.
pub(super) fn release_of_image(image: &str) -> Option<Version> {
    let (path, tag) = image.split('@').next()?.rsplit_once(':')?;
    let mut folders = path.rsplit('/');
    let is_kuma = folders.next() == Some(IMAGE) && folders.next() != Some(OTHER_PRODUCT);
    // Builds between releases have the number 0.0.0.
    let version: Version = tag.parse().ok()?;
    (is_kuma && version.major > 0).then_some(version)
}

/// Returns the release that a version of a chart installs.
pub(super) fn release_of_chart(name: &str, version: &str) -> Option<Version> {
    let version = release_of(version).filter(|_| name == CHART)?;
    match (version.major, version.minor.checked_sub(4)) {
        (0, Some(minor)) if minor > 0 => Some(Version::new(1, minor)),
        (0, _) => None,
        _ => Some(version),
    }
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

/// Parses an unsigned number without a sign (`GetUint32`).
pub(super) fn parse_uint(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Parses `KEY=VALUE;KEY=VALUE` (`GetMap`); `None` for a value because of which the webhook rejects the pod.
pub(super) fn parse_pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    text.split(';')
        .map(|pair| {
            pair.split_once('=')
                .filter(|(_, value)| !value.contains('='))
        })
        .collect()
}

/// Returns whether a value is a list of ports from 1 to 65535, without ranges (`Ports.append`). Empty items are skipped.
pub(super) fn are_ports(text: &str) -> bool {
    text.split(',')
        .map(str::trim)
        .filter(|port| !port.is_empty())
        .all(|port| parse_uint(port).is_some_and(|port| (1..=65535).contains(&port)))
}
