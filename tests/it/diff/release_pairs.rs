//! Pairs of releases with several changes of behaviour between them: the cause is one that makes the difference.

use super::release_facts::{AMBIENT, HTTP, host_header, host_network_pod, native, pod, upgrade};
use crate::support::manifest::{INJECTED, STRICT, join};

/// Compares two releases in both directions: a change with the cause is expected, or no change if the cause is empty.
#[track_caller]
fn assert_cause(manifest: &str, pairs: &[(&str, &str, &str)]) {
    let mut failures = Vec::new();
    for &(old, new, cause) in pairs {
        for (from, to) in [(old, new), (new, old)] {
            let found = upgrade(manifest, from, to);
            let is_expected = match found.as_slice() {
                [] => cause.is_empty(),
                found => !cause.is_empty() && found.iter().all(|(_, text)| text.starts_with(cause)),
            };
            if !is_expected {
                failures.push(format!("{from} -> {to}: expected `{cause}`: {found:#?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn pods_on_the_host_network_in_ambient_mode() {
    let first = "since Istio 1.22.2, istio-cni does not enroll";
    let lost = "since Istio 1.27, istio-cni does not exclude";
    let again = "since Istio 1.31 (1.29.7, 1.30.4), istio-cni does not enroll";
    let pairs = [
        ("1.21", "1.22.1", ""),
        ("1.21", "1.26", first),
        ("1.22", "1.26", first),
        ("1.22.2", "1.26", ""),
        ("1.26", "1.27", lost),
        ("1.26", "1.28", lost),
        ("1.26", "1.29", lost),
        ("1.26", "1.29.7", ""),
        ("1.26", "1.31", ""),
        ("1.27", "1.28", ""),
        ("1.27", "1.31", again),
        ("1.28", "1.29.7", again),
        ("1.29", "1.31", again),
        ("1.29.6", "1.31", again),
        ("1.29.7", "1.31", ""),
        ("1.30", "1.31", again),
        ("1.30.4", "1.31", ""),
        ("1.18", "1.31", again),
    ];
    assert_cause(&host_network_pod(), &pairs);
}

#[test]
fn a_namespace_that_is_excluded_and_the_label_of_a_pod() {
    let excluding = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\nspec: {values: {cni: {ambient: {enabled: true}, excludeNamespaces: [shop]}}}\n";
    let manifest = join(&[AMBIENT, excluding, &pod("", HTTP)]);
    let cause = "since Istio 1.30, istio-cni applies `excludeNamespaces`";
    let pairs = [
        ("1.26", "1.29", ""),
        ("1.26", "1.31", cause),
        ("1.29", "1.31", cause),
    ];
    assert_cause(&manifest, &pairs);
}

#[test]
fn values_of_the_inject_label_and_of_the_annotation() {
    let exact = "since Istio 1.27, `sidecar.istio.io/inject` accepts only";
    for metadata in [
        ", labels: {sidecar.istio.io/inject: 'no'}",
        ", annotations: {sidecar.istio.io/inject: 'no'}",
    ] {
        let manifest = join(&[INJECTED, &pod(metadata, HTTP)]);
        let pairs = [
            ("1.18", "1.26", ""),
            ("1.26", "1.27", exact),
            ("1.18", "1.31", exact),
            ("1.27", "1.31", ""),
        ];
        assert_cause(&manifest, &pairs);
    }
}

#[test]
fn the_header_host() {
    let (dropped, kept) = ("since Istio 1.18.1, ", "since Istio 1.18.3, ");
    let pairs = [
        ("1.17", "1.18.1", dropped),
        ("1.18.0", "1.18.2", dropped),
        ("1.18.0", "1.18.3", ""),
        ("1.18.1", "1.19", kept),
        ("1.18.2", "1.31", kept),
        ("1.17", "1.31", ""),
    ];
    assert_cause(&host_header(), &pairs);
}

#[test]
fn the_order_of_native_sidecars() {
    let kept = "since Istio 1.19, the injector keeps `restartPolicy`";
    let annotation = "since Istio 1.24, the annotation `sidecar.istio.io/nativeSidecar`";
    let default = "since Istio 1.27, sidecars are native";
    let off = ", annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false', sidecar.istio.io/nativeSidecar: 'false'}";
    assert_cause(
        &native(off),
        &[("1.18", "1.19", kept), ("1.18", "1.31", kept)],
    );
    let on = ", annotations: {sidecar.istio.io/nativeSidecar: 'true'}";
    assert_cause(
        &native(on),
        &[("1.19", "1.31", annotation), ("1.24", "1.31", "")],
    );
    assert_cause(
        &native(""),
        &[("1.19", "1.31", default), ("1.26", "1.29", default)],
    );
}

/// A validation of an earlier release must not be the cause of what a later one refuses.
#[test]
fn annotations_that_the_injector_refuses() {
    let (quantity, interface, port) = (
        "sidecar.istio.io/proxyCPU: ' 100m'",
        "traffic.sidecar.istio.io/excludeInterfaces: 'eth 0'",
        "prometheus.io/scrape: 'true', prometheus.io/port: metrics",
    );
    let pairs = [
        (quantity, "since Istio 1.29 (1.27.6, 1.28.4), "),
        (interface, "since Istio 1.30, "),
        (port, "since Istio 1.31, "),
    ];
    for (annotation, cause) in pairs {
        let annotations = format!(", annotations: {{{annotation}}}");
        let manifest = join(&[INJECTED, STRICT, &pod(&annotations, HTTP)]);
        assert_cause(
            &manifest,
            &[("1.18", "1.31", cause), ("1.26", "1.31", cause)],
        );
    }
}
