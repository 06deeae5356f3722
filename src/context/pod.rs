//! What a pod template says about itself: the rewrite switch, capture, the prober env.

use std::collections::BTreeMap;

use crate::finding::Label;
use crate::kube::{Container, ContainerList, Workload};
use crate::mesh::istio::capture::{Capture, CaptureInput};
use crate::mesh::istio::proxy_config::ProxyConfig;
use crate::mesh::istio::rewrite::parse_bool;
use crate::mesh::istio::{keys, prober_json};
use crate::mesh::{Fact, Version};
use crate::yaml::{NodeRef, Span};

use super::Context;

/// Where a pod carries its prober env.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProberEnvPlace {
    /// In the env of the `istio-proxy` container.
    Container,
    /// In `proxyMetadata` of the `proxy.istio.io/config` annotation.
    ProxyMetadata,
}

/// The prober env of a pod: one fact, wherever it stands.
#[derive(Clone, Debug)]
pub struct ProberEnv {
    /// The probers by path, or why they can't be read.
    pub probers: Result<BTreeMap<String, String>, String>,
    /// Which of the two places holds it.
    pub place: ProberEnvPlace,
    /// The bytes of the value.
    pub span: Span,
}

impl<'t> Context<'t> {
    /// Tells whether the injector rewrites the probes of this pod, by annotation or mesh default.
    #[must_use]
    pub fn rewrite(&self, workload: &Workload<'t>) -> Fact<bool> {
        if let Some(fact) = self.proxyless_opt_out(workload) {
            return fact;
        }
        let annotation = workload.template.annotation(keys::REWRITE_PROBERS);
        let word = annotation
            .and_then(|entry| entry.value.text())
            .and_then(parse_bool);
        match (annotation, word) {
            (Some(entry), Some(on)) => {
                let said = if on {
                    "the rewrite is on"
                } else {
                    "the rewrite is switched off here"
                };
                Fact::known(on, workload.object.label_at(entry.value.span(), said))
            }
            _ => self.rewrite_default(),
        }
    }

    /// Proxyless templates write the opt-out themselves, over whatever the pod says. Measured:
    /// 1.10 and 1.11 do not.
    fn proxyless_opt_out(&self, workload: &Workload<'t>) -> Option<Fact<bool>> {
        let entry = workload.template.annotation(keys::TEMPLATES)?;
        let mut names = entry.value.text()?.split(',').map(str::trim);
        let old = self
            .version()
            .is_some_and(|version| version < Version::new(1, 12));
        (!old && names.any(|name| matches!(name, "grpc-agent" | "grpc-simple"))).then(|| {
            let said = "this template switches the rewrite off itself";
            Fact::known(false, workload.object.label_at(entry.value.span(), said))
        })
    }

    /// Returns the port that rewritten probes of this pod are pointed at, and what decides.
    #[must_use]
    pub fn status_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        if let Some(entry) = workload.template.annotation(keys::STATUS_PORT)
            && let Some(text) = entry.value.text()
        {
            // Go's Atoi: what it cannot read becomes 0.
            let port = text.parse().unwrap_or(0);
            let place = workload
                .object
                .label_at(entry.value.span(), "the agent's port is set here");
            return Fact::known(port, place);
        }
        let port = self.mesh_status_port();
        Fact::default(
            i64::from(port),
            format!("the agent listens on port {port}"),
            "--assume status-port=PORT",
        )
    }

    /// Tells whether a connection to `port` of this pod ends at the sidecar.
    #[must_use]
    pub fn capture(&self, workload: &Workload<'t>, port: i64) -> Fact<bool> {
        let Ok(port) = u16::try_from(port) else {
            return Fact::settled(false, format!("{port} is no port"));
        };
        let template = &workload.template;
        let text = |key: &str| {
            template
                .annotation(key)
                .and_then(|entry| entry.value.text())
        };
        let config = proxy_config(workload);
        let mode = text(keys::INTERCEPTION_MODE)
            .or_else(|| config.as_ref().and_then(ProxyConfig::interception_mode));
        let input = CaptureInput {
            interception_mode: mode,
            include: text(keys::INCLUDE_INBOUND_PORTS),
            exclude: text(keys::EXCLUDE_INBOUND_PORTS),
            status_port: u16::try_from(self.status_port(workload).value).unwrap_or_default(),
        };
        let capture = Capture::of(&input, port);
        let (key, said) = match capture {
            Capture::ByDefault => {
                return Fact::settled(true, format!("the sidecar captures port {port}"));
            }
            Capture::SidecarPort => {
                return Fact::settled(false, format!("port {port} belongs to the sidecar"));
            }
            Capture::Included => (keys::INCLUDE_INBOUND_PORTS, "the port is captured"),
            Capture::NotIncluded => (keys::INCLUDE_INBOUND_PORTS, "the port is not captured"),
            Capture::Excluded => (keys::EXCLUDE_INBOUND_PORTS, "the port is not captured"),
            Capture::InterceptionOff => (keys::INTERCEPTION_MODE, "nothing is captured"),
        };
        let entry = template
            .annotation(key)
            .or_else(|| template.annotation(keys::PROXY_CONFIG));
        let place = entry.map(|entry| workload.object.label_at(entry.value.span(), said));
        match place {
            Some(place) => Fact::known(capture.is_captured(), place),
            None => Fact::settled(capture.is_captured(), said),
        }
    }

    /// Returns the prober env of the pod, if it carries one.
    #[must_use]
    pub fn prober_env(&self, workload: &Workload<'t>) -> Option<ProberEnv> {
        container_env(workload).or_else(|| metadata_env(workload))
    }
}

/// Returns the sidecar container that the manifest itself holds: real, or a request to the
/// injector. `containers` comes before `initContainers`, as in the injector's search.
#[must_use]
pub fn proxy_container<'t>(workload: &Workload<'t>) -> Option<Container<'t>> {
    [ContainerList::Main, ContainerList::Init]
        .into_iter()
        .flat_map(|list| workload.template.containers_in(list))
        .find(|container| container.name() == keys::PROXY_CONTAINER)
}

/// Returns the parsed `proxy.istio.io/config` annotation, if there is one that parses.
#[must_use]
pub fn proxy_config(workload: &Workload<'_>) -> Option<ProxyConfig> {
    let text = workload
        .template
        .annotation(keys::PROXY_CONFIG)?
        .value
        .text()?;
    ProxyConfig::parse(text).ok()
}

fn container_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    let variable = proxy_container(workload)?.env(keys::PROBERS_ENV)?;
    let value = variable.value();
    let text = value.and_then(NodeRef::text).unwrap_or_default();
    Some(ProberEnv {
        probers: prober_json::parse(text),
        place: ProberEnvPlace::Container,
        span: value.map_or_else(|| variable.node.span(), NodeRef::span),
    })
}

fn metadata_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    let entry = workload.template.annotation(keys::PROXY_CONFIG)?;
    let config = proxy_config(workload)?;
    let probers = match config.probers()? {
        Ok(text) => prober_json::parse(&text),
        Err(error) => Err(error.message),
    };
    let place = ProberEnvPlace::ProxyMetadata;
    Some(ProberEnv {
        probers,
        place,
        span: entry.key.span(),
    })
}

/// Returns a label on the deciding line of a pod's annotation, for messages.
#[must_use]
pub fn annotation_label(workload: &Workload<'_>, key: &str, said: &str) -> Option<Label> {
    let entry = workload.template.annotation(key)?;
    Some(workload.object.label_at(entry.value.span(), said))
}
