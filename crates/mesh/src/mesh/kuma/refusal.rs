//! Decides which pods Kuma's webhook rejects although it would inject them.
//!
//! Sources, of v2.14.3 and 348b6528: `pkg/plugins/runtime/k8s/containers/factory.go` (`sidecarEnvVars`),
//! `probes/probe.go` and `probes/pod_probe_overrider.go`, `webhooks/injector/probes.go`, and
//! `pkg/transparentproxy/kubernetes/kubernetes_config.go`.

use std::ops::RangeInclusive;

use super::injection::parse_switch;
use super::keys::{EXCLUDED_PORTS, GATEWAY, PROXY_PORT, SIDECAR_ENV, VIRTUAL_PORT, VIRTUAL_PROBES};
use super::proxy::{Era, ProbeProxy};
use super::values::{are_ports, parse_pairs, parse_uint};
use crate::kube::{ContainerList, ProbeHandler};
use crate::mesh::Fact;
use crate::mesh::model::{Membership, PodInput};

/// Returns the reason to reject a value of an annotation.
type Reason = fn(&str, &ProbeProxy<'_, '_>) -> Option<String>;

/// The annotations that the webhook parses, with the releases that do.
const ANNOTATIONS: &[(&str, RangeInclusive<Era>, Reason)] = &[
    (SIDECAR_ENV, Era::Virtual..=Era::Three, bad_pairs),
    (GATEWAY, Era::Virtual..=Era::Three, |text, _| {
        bad_switch(text)
    }),
    (
        VIRTUAL_PROBES,
        Era::Virtual..=Era::Proxy,
        bad_virtual_probes,
    ),
    (VIRTUAL_PORT, Era::Virtual..=Era::Proxy, bad_virtual_port),
    (PROXY_PORT, Era::Both..=Era::Three, bad_proxy_port),
    (EXCLUDED_PORTS, Era::Three..=Era::Three, bad_excluded_ports),
];

/// Returns the reason why the webhook rejects a pod that it would inject, if there is one.
pub(super) fn refusal(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let proxy = ProbeProxy::of(input);
    invalid_annotation(input, &proxy).or_else(|| reserved_port(input, &proxy))
}

fn invalid_annotation(
    input: &PodInput<'_, '_>,
    proxy: &ProbeProxy<'_, '_>,
) -> Option<Fact<Membership>> {
    let era = Era::of(input.release);
    let template = &input.workload.template;
    ANNOTATIONS
        .iter()
        .filter(|(_, eras, _)| eras.contains(&era))
        .find_map(|(key, _, reason)| {
            let entry = template.annotation(key)?;
            let message = reason(entry.value.text().unwrap_or_default(), proxy)?;
            let place = input.workload.object.label_at(entry.value.span(), message);
            Some(Fact::known(Membership::Refused, place))
        })
}

fn reserved_port(input: &PodInput<'_, '_>, proxy: &ProbeProxy<'_, '_>) -> Option<Fact<Membership>> {
    let containers = input.workload.template.containers();
    let (container, handler) = containers
        .iter()
        .filter(|container| container.list != ContainerList::Ephemeral)
        .flat_map(|container| {
            let handlers = container.handlers().into_iter();
            handlers.map(|handler| (container.clone(), handler))
        })
        .find(|handler| proxy.refuses(handler))?;
    let message = rejected(match handler.action {
        Ok(ProbeHandler::HttpGet(_)) if proxy.port == 0 => "this port belongs to virtual probes",
        _ => "this port belongs to the probe proxy",
    });
    let place = input
        .workload
        .object
        .label_at(handler.field_span("port"), message);
    let fact = Fact::known(Membership::Refused, place);
    Some(match container.list {
        ContainerList::Init => fact.depending_on(&proxy.native),
        _ => fact,
    })
}

fn rejected(why: &str) -> String {
    format!("the webhook rejects the pod: {why}")
}

fn bad_pairs(text: &str, _: &ProbeProxy<'_, '_>) -> Option<String> {
    let why = format!("`{text}` does not have the form `KEY=VALUE;KEY=VALUE`");
    parse_pairs(text).is_none().then(|| rejected(&why))
}

fn bad_switch(text: &str) -> Option<String> {
    let why = format!("`{text}` is not one of `enabled`, `yes`, `true`, `disabled`, `no`, `false`");
    parse_switch(text).is_none().then(|| rejected(&why))
}

fn bad_virtual_probes(text: &str, proxy: &ProbeProxy<'_, '_>) -> Option<String> {
    let is_conflict = parse_switch(text) == Some(true) && proxy.gateway == Some(true);
    bad_switch(text).or_else(|| is_conflict.then(|| rejected("a gateway has no virtual probes")))
}

fn bad_virtual_port(text: &str, _: &ProbeProxy<'_, '_>) -> Option<String> {
    let why = format!("`{text}` is not a port");
    parse_uint(text).is_none().then(|| rejected(&why))
}

/// The annotation `kuma.io/gateway` rejects an enabled port whatever its value. Up to 2.14, the webhook accepts ports above
/// 65535, but the API server rejects probes of such ports, and `kumactl install transparent-proxy`, which
/// excludes the port from traffic capture, fails.
fn bad_proxy_port(text: &str, proxy: &ProbeProxy<'_, '_>) -> Option<String> {
    match parse_uint(text) {
        None => Some(rejected(&format!("`{text}` is not a port"))),
        Some(1..) if proxy.gateway == Some(true) => Some(rejected("a gateway has no probe proxy")),
        Some(1..) if proxy.gateway.is_some() => Some(rejected(&format!(
            "a pod with the annotation `{GATEWAY}` has no probe proxy"
        ))),
        Some(65536..) if proxy.is_three() => Some(rejected(&format!("`{text}` is not a port"))),
        Some(65536..) => Some(format!(
            "`{text}` is not a port, although the webhook accepts it"
        )),
        Some(_) => None,
    }
}

fn bad_excluded_ports(text: &str, proxy: &ProbeProxy<'_, '_>) -> Option<String> {
    let why = format!("`{text}` is not a list of ports from 1 to 65535");
    // The traffic of gateways is not captured, so the value is not read.
    let is_read = proxy.gateway != Some(true);
    (is_read && !are_ports(text)).then(|| rejected(&why))
}
