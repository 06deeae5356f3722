//! What a pod template says about itself: the rewrite switch, capture, the prober env.

use std::collections::BTreeMap;

use crate::kube::{Action, Container, ContainerList, HttpGet, Workload};
use crate::mesh::istio::proxy_config::ProxyConfig;
use crate::mesh::istio::rewrite::parse_bool;
use crate::mesh::istio::{keys, prober_json, recorded};
use crate::mesh::{Fact, Version};
use crate::source::placeholder;
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

/// Why a prober env can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its value is not in the manifest: what the agent is given is not known.
    Elsewhere(&'static str),
    /// The agent can't read it either; the parser's words.
    Invalid(String),
}

impl core::fmt::Display for Unread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Elsewhere(why) => f.write_str(why),
            Self::Invalid(error) => f.write_str(error),
        }
    }
}

/// The prober env of a pod: one fact, wherever it stands.
#[derive(Clone, Debug)]
pub struct ProberEnv {
    /// The probers by path, or why they can't be read.
    pub probers: Result<BTreeMap<String, String>, Unread>,
    /// Which of the two places holds it.
    pub place: ProberEnvPlace,
    /// The bytes of the value.
    pub span: Span,
}

impl ProberEnv {
    /// Tells whether the agent gives the check of `path` no time at all: a gRPC entry without a
    /// timeout. Measured with Istio 1.31: such an entry answers 500 for ever.
    #[must_use]
    pub fn expires_at_once(&self, path: &str) -> bool {
        let probers = self.probers.as_ref().ok();
        probers
            .and_then(|probers| probers.get(path))
            .is_some_and(|json| prober_json::expires_at_once(json))
    }

    /// Returns the value with `seconds` as the timeout of `path`.
    #[must_use]
    pub fn with_timeout(&self, path: &str, seconds: i64) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        let json = probers.get_mut(path)?;
        *json = prober_json::with_timeout(json, seconds)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the value with the number `port` in place of what `path` names as its port.
    #[must_use]
    pub fn with_port(&self, path: &str, port: i64) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        let json = probers.get_mut(path)?;
        *json = prober_json::with_port(json, port)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the value without the entry of `path`.
    #[must_use]
    pub fn without(&self, path: &str) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        probers.remove(path)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the port name that the entry of `path` holds where a number belongs.
    #[must_use]
    pub fn port_name_of(&self, path: &str) -> Option<String> {
        prober_json::port_name(self.probers.as_ref().ok()?.get(path)?)
    }

    /// Returns the HTTP request that the entry of `path` records, with the defaults of the API
    /// server; `None` where it records another kind, headers or a host.
    #[must_use]
    pub fn plain_http_of(&self, path: &str) -> Option<HttpGet> {
        let json = self.probers.as_ref().ok()?.get(path)?;
        match recorded::read(json).ok()?.action {
            Action::HttpGet(http) if http.host.is_none() && http.headers.is_empty() => Some(http),
            _ => None,
        }
    }

    /// Returns the port of the application that the agent asks for a probe at `path`; `None` where
    /// there is no entry, or none that can be read.
    #[must_use]
    pub fn port_of(&self, path: &str) -> Option<i64> {
        let prober = self.probers.as_ref().ok()?.get(path)?;
        prober_json::port(prober)
    }
}

impl<'t> Context<'t> {
    /// Tells whether the injector rewrites the probes of this pod, by annotation or mesh default.
    #[must_use]
    pub fn rewrite(&self, workload: &Workload<'t>) -> Fact<bool> {
        if let Some(on) = self.given(&workload.object).overrides.rewrite {
            return Fact::settled(on, format!("the rewrite is {} (--override)", switch(on)));
        }
        if let Some(fact) = self.proxyless_opt_out(workload) {
            return fact;
        }
        let annotation = workload.template.annotation(keys::REWRITE_PROBERS);
        let word = annotation
            .and_then(|entry| entry.value.text())
            .and_then(parse_bool);
        let text = annotation.and_then(|entry| entry.value.text());
        if text.is_some_and(placeholder::contains) {
            let said = "the switch of the rewrite is filled in by another tool";
            return Fact::unknown(true, said, Some("--override rewrite=true|false"));
        }
        match (annotation, word) {
            (Some(entry), Some(on)) => {
                let said = if on {
                    "the rewrite is on"
                } else {
                    "the rewrite is switched off here"
                };
                Fact::known(on, workload.object.label_at(entry.value.span(), said))
            }
            _ => self.rewrite_default(workload),
        }
    }

    /// Proxyless templates write the opt-out themselves, over whatever the pod says. Measured:
    /// 1.10 and 1.11 do not.
    fn proxyless_opt_out(&self, workload: &Workload<'t>) -> Option<Fact<bool>> {
        let entry = workload.template.annotation(keys::TEMPLATES)?;
        let mut names = entry.value.text()?.split(',').map(str::trim);
        let old = self
            .version(workload)
            .value
            .is_some_and(|version| version < Version::new(1, 12));
        (!old && names.any(|name| matches!(name, "grpc-agent" | "grpc-simple"))).then(|| {
            let said = "this template switches the rewrite off itself";
            Fact::known(false, workload.object.label_at(entry.value.span(), said))
        })
    }

    /// Returns the prober env of the pod, if it carries one.
    #[must_use]
    pub fn prober_env(&self, workload: &Workload<'t>) -> Option<ProberEnv> {
        written_prober_env(workload)
    }
}

/// The same without a context: the manifest alone says it.
#[must_use]
pub fn written_prober_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    container_env(workload).or_else(|| metadata_env(workload))
}

const fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Returns the sidecar container that the manifest itself holds: real, or a request to the
/// injector. `containers` comes before `initContainers`, as in the injector's search.
#[must_use]
pub fn proxy_container<'t>(workload: &Workload<'t>) -> Option<Container<'t>> {
    let template = &workload.template;
    if !template.may_have_container(keys::PROXY_CONTAINER) {
        return None;
    }
    let list = [ContainerList::Main, ContainerList::Init]
        .into_iter()
        .find(|list| {
            let mut names = template.names_in(*list);
            names.any(|(name, _)| name == keys::PROXY_CONTAINER)
        })?;
    let mut containers = template.containers_in(list).into_iter();
    containers.find(|container| container.name() == keys::PROXY_CONTAINER)
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
    let probers = match value.and_then(NodeRef::text) {
        Some(text) => read(text),
        None => Err(Unread::Elsewhere(
            "its value is not written here (`valueFrom`)",
        )),
    };
    Some(ProberEnv {
        probers,
        place: ProberEnvPlace::Container,
        span: value.map_or_else(|| variable.node.span(), NodeRef::span),
    })
}

fn read(text: &str) -> Result<BTreeMap<String, String>, Unread> {
    prober_json::parse(text).map_err(|error| {
        if placeholder::contains(text) {
            Unread::Elsewhere("its value is filled in by another tool")
        } else {
            Unread::Invalid(error)
        }
    })
}

fn metadata_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    let entry = workload.template.annotation(keys::PROXY_CONFIG)?;
    let config = proxy_config(workload)?;
    let probers = match config.probers()? {
        Ok(text) => read(&text),
        Err(_) if config.raw_probers().is_some_and(|raw| read(raw).is_ok()) => {
            let said =
                "the injector pastes it between double quotes: write each `\"` in it as `\\\"`";
            Err(Unread::Invalid(said.into()))
        }
        Err(error) => Err(Unread::Invalid(error.message)),
    };
    let place = ProberEnvPlace::ProxyMetadata;
    Some(ProberEnv {
        probers,
        place,
        span: entry.key.span(),
    })
}
