//! How pods take part in Kuma.

use meshprobe_yaml::Span;

use super::injection;
use super::installed::installed;
use super::keys::{
    EXCLUDED_PORTS, GATEWAY, PORT_ENV, PROXY_PORT, SIDECAR, SIDECAR_ENV, VIRTUAL_PORT,
    VIRTUAL_PROBES,
};
use super::proxy::{Era, ProbeProxy, probe_port};
use super::refusal::refusal;
use crate::finding::Label;
use crate::kube::{Object, Workload};
use crate::mesh::description::Mesh;
use crate::mesh::fact::Fact;
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

    fn installed_release(&self, object: &Object<'_>) -> Option<(Version, Span)> {
        installed(object)
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
