//! How pods take part in Kuma.
//!
//! Decides which pods Kuma's webhook rejects although it would inject them.
//!
//! Sources, of v2.14.3 and 348b6528: `pkg/plugins/runtime/k8s/containers/factory.go` (`sidecarEnvVars`),
//! `probes/probe.go` and `probes/pod_probe_overrider.go`, `webhooks/injector/probes.go`, and
//! `pkg/transparentproxy/kubernetes/kubernetes_config.go`.

use std::ops::RangeInclusive;

use super::injection;
use super::injection::{are_ports, parse_pairs, parse_switch, parse_uint};
use super::keys::{
    EXCLUDED_PORTS, GATEWAY, PORT_ENV, PROXY_PORT, SIDECAR, SIDECAR_ENV, VIRTUAL_PORT,
    VIRTUAL_PROBES,
};
use super::proxy::{Era, ProbeProxy, probe_port};
use crate::finding::Label;
use crate::kube::{ContainerList, ProbeHandler, Workload};
use crate::mesh::Fact;
use crate::mesh::description::Mesh;
use crate::mesh::model::{
    Addition, HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment,
    RewriteSupport, placeholder_membership, port_of, release_of,
};
use crate::mesh::version::Version;

/// The model of Kuma.
#[derive(Debug)]
pub(crate) struct Kuma;

impl MeshModel for Kuma {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        let latest = "the release is assumed to be Kuma 3, which is in development";
        release_of(Mesh::KUMA, given, latest)
    }

    fn release_of_image(&self, image: &str) -> Option<Version> {
        injection::release_of_image(image)
    }

    fn release_of_chart(&self, name: &str, version: &str) -> Option<Version> {
        injection::release_of_chart(name, version)
    }

    fn other_releases(&self) -> &'static [Version] {
        const OTHERS: [Version; 4] = [
            Version::new(2, 14),
            Version::new(2, 12),
            Version::new(2, 8),
            Version::new(2, 1),
        ];
        &OTHERS
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[SIDECAR, "kuma-init", "kuma-validation"]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        let member = injection::injection(input);
        if member.value != Membership::Injected {
            return member;
        }
        let decide = [
            PROXY_PORT,
            GATEWAY,
            SIDECAR_ENV,
            VIRTUAL_PROBES,
            VIRTUAL_PORT,
            EXCLUDED_PORTS,
        ];
        let placeholder = placeholder_membership(input, &decide);
        placeholder.or_else(|| refusal(input)).unwrap_or(member)
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        let proxy = ProbeProxy::of(input);
        handlers
            .iter()
            .map(|handler| match membership {
                Membership::Injected => proxy.treatments(handler),
                Membership::Refused => proxy.refuse(handler),
                Membership::AlreadyInjected => proxy.injected_already(handler),
                _ => ProbeTreatment::unchanged(port_of(handler), ProbeDestination::Nothing),
            })
            .collect()
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport {
            oldest: Version::new(2, 9),
            not_deployable: "Kuma rejects a pod with a probe that already targets the port of its probe \
                      proxy",
            caution: "the annotations switch off the webhook's rewrite and keep the probe proxy \
                      on; the webhook does not change that form, but it was not tested with a \
                      sidecar",
        }
    }

    fn caution(&self, release: Option<Version>) -> &'static str {
        match Era::of(release) {
            Era::Proxy => {
                "in Kuma 2.13 and 2.14, no annotation switches off the webhook's rewrite without \
                 virtual probes, so the webhook rejects that form"
            }
            _ => self.shape().caution,
        }
    }

    fn additions(
        &self,
        input: &PodInput<'_, '_>,
        _: &[HandlerRef<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        let era = Era::of(input.release);
        // No annotations keep the rewritten probes: port 0 turns virtual probes on.
        if era == Era::Proxy {
            return Ok(Vec::new());
        }
        let existing = [SIDECAR_ENV, EXCLUDED_PORTS]
            .into_iter()
            .filter(|key| *key == SIDECAR_ENV || era < Era::Three)
            .find_map(|key| {
                input
                    .workload
                    .template
                    .annotation(key)
                    .map(|entry| (key, entry))
            });
        if let Some((key, entry)) = existing {
            let place = input
                .workload
                .object
                .label_at(entry.key.span(), "it is set here");
            return Err((
                place,
                format!("`{key}` is already set, and is not extended"),
            ));
        }
        let port = ProbeProxy::of(input).port;
        let add = |key: &'static str, value: String| Addition::Annotation(key, value);
        let mut all = vec![
            add(PROXY_PORT, "0".to_owned()),
            add(SIDECAR_ENV, format!("{PORT_ENV}={port}")),
        ];
        if era < Era::Three {
            all.push(add(EXCLUDED_PORTS, port.to_string()));
        }
        if era == Era::Both {
            all.push(add(VIRTUAL_PROBES, "disabled".to_owned()));
        }
        Ok(all)
    }

    fn port_owner(
        &self,
        pod: &Workload<'_>,
        release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        (probe_port(pod, release) == Some(port)).then_some("the probe proxy")
    }
}

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
