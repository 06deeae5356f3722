//! Facts from a pod template: whether its probes are rewritten, its own sidecar, its prober env, and the order in which its
//! containers start.

use std::collections::BTreeMap;

use meshprobe_mesh::kube::{Container, ContainerList, HttpGet, ProbeHandler, Workload};
use meshprobe_mesh::mesh::istio::install::NativeSidecars;
use meshprobe_mesh::mesh::istio::proxy_config::ProxyConfig;
use meshprobe_mesh::mesh::istio::rewrite::{GRPC_SIMPLE_OPTS_OUT, parse_bool};
use meshprobe_mesh::mesh::istio::{keys, prober_json, recorded};
use meshprobe_mesh::mesh::{Fact, Version};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{NodeRef, Span};

use crate::context::istio::pod_facts::PodFacts;

/// Where the manifest of a pod contains its prober env.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProberEnvPlace {
    /// In the env of the `istio-proxy` container.
    Container,
    /// In `proxyMetadata` of the `proxy.istio.io/config` annotation.
    ProxyMetadata,
}

/// Why a prober env cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableProberEnv {
    /// The manifest does not contain its value, so the value that the agent receives is unknown.
    Elsewhere(&'static str),
    /// The agent cannot read it either. Contains the error of the parser.
    Invalid(String),
}

impl core::fmt::Display for UnreadableProberEnv {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Elsewhere(why) => f.write_str(why),
            Self::Invalid(error) => f.write_str(error),
        }
    }
}

/// The prober env of a pod, from either place.
#[derive(Clone, Debug)]
pub struct ProberEnv {
    /// The probers by path, or why they cannot be read.
    pub probers: Result<BTreeMap<String, String>, UnreadableProberEnv>,
    /// The place that contains it.
    pub place: ProberEnvPlace,
    /// The bytes of the value.
    pub span: Span,
}

impl ProberEnv {
    /// Returns whether the agent's check of `path` always times out: a gRPC entry without a timeout.
    /// Measured with Istio 1.31: such an entry always answers 500.
    #[must_use]
    pub fn expires_at_once(&self, path: &str) -> bool {
        let probers = self.probers.as_ref().ok();
        probers
            .and_then(|probers| probers.get(path))
            .is_some_and(|json| prober_json::expires_at_once(json))
    }

    /// Returns the value with the timeout of `path` set to `seconds`; `None` if `path` has no entry.
    #[must_use]
    pub fn with_timeout(&self, path: &str, seconds: i64) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        let json = probers.get_mut(path)?;
        *json = prober_json::with_timeout(json, seconds)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the value with the port of `path` set to the number `port`; `None` if `path` has no
    /// entry.
    #[must_use]
    pub fn with_port(&self, path: &str, port: i64) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        let json = probers.get_mut(path)?;
        *json = prober_json::with_port(json, port)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the value without the entry of `path`; `None` if there is no such entry.
    #[must_use]
    pub fn without(&self, path: &str) -> Option<String> {
        let mut probers = self.probers.as_ref().ok()?.clone();
        probers.remove(path)?;
        Some(prober_json::object(&probers))
    }

    /// Returns the port name that the entry of `path` contains instead of a number.
    #[must_use]
    pub fn port_name_of(&self, path: &str) -> Option<String> {
        prober_json::port_name(self.probers.as_ref().ok()?.get(path)?)
    }

    /// Returns the HTTP request that the entry of `path` records, with the defaults of the API
    /// server; `None` if it records another kind of probe, headers or a host.
    #[must_use]
    pub fn plain_http_of(&self, path: &str) -> Option<HttpGet> {
        let json = self.probers.as_ref().ok()?.get(path)?;
        match recorded::read(json).ok()?.action {
            ProbeHandler::HttpGet(http) if http.host.is_none() && http.headers.is_empty() => {
                Some(http)
            }
            _ => None,
        }
    }

    /// Returns the application port that the agent checks for a probe at `path`; `None` if there is
    /// no entry, or if it cannot be read.
    #[must_use]
    pub fn port_of(&self, path: &str) -> Option<i64> {
        let prober = self.probers.as_ref().ok()?.get(path)?;
        prober_json::port(prober)
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns whether the injector rewrites the probes of this pod. An option, the template, the
    /// annotation and the default of the mesh decide, in this order.
    #[must_use]
    pub fn rewrite(&self) -> Fact<bool> {
        if let Some(on) = self
            .context
            .user_facts(&self.workload.object)
            .overrides
            .rewrite
        {
            return Fact::settled(on, format!("the rewrite is {} (--override)", on_or_off(on)));
        }
        if let Some(fact) = self.proxyless_opt_out() {
            return fact;
        }
        let annotation = self.workload.template.annotation(keys::REWRITE_PROBERS);
        let word = annotation
            .and_then(|entry| entry.value.text())
            .and_then(parse_bool);
        let text = annotation.and_then(|entry| entry.value.text());
        if let Some(entry) = annotation.filter(|_| text.is_some_and(placeholder::contains)) {
            let message = "fills in the annotation that switches the rewrite";
            let object = &self.workload.object;
            let message = object.placeholder_at(entry.value.span(), message).message;
            return Fact::unknown(true, message, Some("--override rewrite=true|false"));
        }
        match (annotation, word) {
            (Some(entry), Some(on)) => {
                let message = if on {
                    "the rewrite is on"
                } else {
                    "the rewrite is switched off here"
                };
                Fact::known(
                    on,
                    self.workload.object.label_at(entry.value.span(), message),
                )
            }
            _ => self.rewrite_default(),
        }
    }

    /// Returns that the rewrite is off if a proxyless template is selected: these templates set the
    /// opt-out and override the annotation of the pod. Measured: 1.10 and 1.11 do not. Earlier releases than
    /// [`GRPC_SIMPLE_OPTS_OUT`] set that of `grpc-simple` at the wrong place, but add no container `istio-proxy`, without which
    /// nothing is rewritten.
    fn proxyless_opt_out(&self) -> Option<Fact<bool>> {
        let entry = self.workload.template.annotation(keys::TEMPLATES)?;
        let mut names = entry.value.text()?.split(',').map(str::trim);
        let release = self.version().value;
        let is_before = |minor| release.is_some_and(|release| release < Version::new(1, minor));
        let has_proxy = || proxy_container(self.workload).is_some();
        let opts_out = |name| match name {
            "grpc-agent" => true,
            "grpc-simple" => GRPC_SIMPLE_OPTS_OUT.is_in(release) || !has_proxy(),
            _ => false,
        };
        (!is_before(12) && names.any(opts_out)).then(|| {
            let message = "this template switches the rewrite off";
            Fact::known(
                false,
                self.workload.object.label_at(entry.value.span(), message),
            )
        })
    }

    /// Returns the prober env of the pod, if its manifest contains one.
    #[must_use]
    pub fn prober_env(&self) -> Option<ProberEnv> {
        written_prober_env(self.workload)
    }
}

/// Returns the prober env that the manifest of a workload contains, if any.
#[must_use]
pub fn written_prober_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    container_env(workload).or_else(|| metadata_env(workload))
}

const fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Returns the sidecar container of the manifest: a real one, or a request to the injector.
/// Searches `containers` before `initContainers`, as the injector does.
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
    template
        .containers_in(list)
        .into_iter()
        .find(|container| container.name() == keys::PROXY_CONTAINER)
}

/// Returns the parsed `proxy.istio.io/config` annotation; `None` if it is absent or does not parse.
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
        Some(text) => parse_probers(text),
        None => Err(UnreadableProberEnv::Elsewhere(
            "its value comes from `valueFrom`",
        )),
    };
    Some(ProberEnv {
        probers,
        place: ProberEnvPlace::Container,
        span: value.map_or_else(|| variable.node.span(), NodeRef::span),
    })
}

fn parse_probers(text: &str) -> Result<BTreeMap<String, String>, UnreadableProberEnv> {
    prober_json::parse(text).map_err(|error| {
        if placeholder::contains(text) {
            UnreadableProberEnv::Elsewhere("its value is a placeholder")
        } else {
            UnreadableProberEnv::Invalid(error)
        }
    })
}

fn metadata_env(workload: &Workload<'_>) -> Option<ProberEnv> {
    let entry = workload.template.annotation(keys::PROXY_CONFIG)?;
    let config = proxy_config(workload)?;
    let probers = match config.probers()? {
        Ok(text) => parse_probers(&text),
        Err(_)
            if config
                .raw_probers()
                .is_some_and(|raw| parse_probers(raw).is_ok()) =>
        {
            let message = "the injector pastes the value between double quotes: write each `\"` \
                           in it as `\\\"`";
            Err(UnreadableProberEnv::Invalid(message.into()))
        }
        Err(error) => Err(UnreadableProberEnv::Invalid(error.message)),
    };
    let place = ProberEnvPlace::ProxyMetadata;
    Some(ProberEnv {
        probers,
        place,
        span: entry.key.span(),
    })
}

/// The first release whose injector knows `restartPolicy` of containers, so that native sidecars of the application start
/// as written (istio/istio#45959).
const KEEPS_RESTART_POLICY: Version = Version::new(1, 19);

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns whether the sidecar is an init container, so that it starts before all containers of
    /// the application. With `auto` the Kubernetes version of the nodes decides. If that is unknown,
    /// the sidecar is assumed not to be native, the case in which probes of init containers fail.
    #[must_use]
    pub fn sidecar_is_native(&self) -> Fact<bool> {
        let own = proxy_container(self.workload).filter(|proxy| proxy.image() != Some("auto"));
        if let Some(proxy) = own
            && let Some(name) = proxy.node.get("name")
        {
            let native = proxy.list == ContainerList::Init;
            let message = if native {
                "the sidecar is an init container"
            } else {
                "the sidecar is a regular container"
            };
            return Fact::known(native, self.workload.object.label_at(name.span(), message));
        }
        self.native_sidecars()
            .map(|native| native == NativeSidecars::On)
    }

    /// Returns whether traffic is captured while the startup probe of the init container `name` runs, before the sidecar
    /// starts; `None` if the sidecar starts before it, if the nodes decide, or if the release is too old.
    ///
    /// `istio-init` is the last init container unless the sidecar is native, so that the others can be reached. The CNI
    /// plugin captures traffic before all containers.
    #[must_use]
    pub fn capture_before_sidecar(&self, name: &str) -> Option<Fact<bool>> {
        let native = self.sidecar_is_native();
        let release = self.version().value;
        if native.value
            || self.nodes_decide_order()
            || release.is_some_and(|release| release < KEEPS_RESTART_POLICY)
        {
            return None;
        }
        let position = |wanted: &str| {
            let mut containers = self.workload.template.names_in(ContainerList::Init);
            containers.position(|(name, _)| name == wanted)
        };
        let captured = match position(keys::INIT_CONTAINER) {
            Some(init) => {
                let message = "the manifest contains the container `istio-init`";
                Fact::settled(position(name) > Some(init), message)
            }
            None => self.cni(),
        };
        let message = if captured.value {
            "traffic is captured before this container starts, and the sidecar starts later"
        } else {
            "traffic is captured only after this container has started"
        };
        let order = Fact::settled(captured.value, message).depending_on(&native);
        Some(order.depending_on(&captured))
    }

    /// Returns whether the nodes decide if the sidecar is native, and their Kubernetes version is
    /// unknown.
    #[must_use]
    pub fn nodes_decide_order(&self) -> bool {
        self.native_sidecars().value == NativeSidecars::Auto
            && proxy_container(self.workload).is_none_or(|proxy| proxy.image() == Some("auto"))
    }

    /// Returns whether the sidecar is up before the containers of the application start: it is
    /// native, or the application waits for it.
    #[must_use]
    pub fn sidecar_starts_first(&self) -> Fact<bool> {
        let native = self.sidecar_is_native();
        if native.value {
            return native;
        }
        let hold = self.hold_application();
        if hold.value {
            return hold;
        }
        native.depending_on(&hold)
    }
}
