//! The three ports of the agent, and what the redirect takes.
//!
//! The kubelet's target, the port the agent listens on and the port the redirect leaves alone come
//! from three places (Istio 1.31): `pkg/kube/inject/app_probe.go`,
//! `pilot/cmd/pilot-agent/config/config.go`, and `files/injection-template.yaml` of the chart
//! istio-discovery.

use std::sync::Arc;

use crate::finding::Label;
use crate::kube::{Object, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::capture::{Capture, CaptureInput, CaptureRules};
use crate::mesh::istio::keys;

use super::memo;
use super::pod::proxy_config;
use super::{Context, InstallView};

impl<'t> Context<'t> {
    /// Returns the port that rewritten probes of this pod are pointed at, and what decides.
    /// `proxy.istio.io/config` has no say: the webhook does not look at it.
    #[must_use]
    pub fn status_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        own_port(workload).unwrap_or_else(|| self.mesh_status_port(workload))
    }

    /// Returns the port that the agent of this pod listens on.
    #[must_use]
    pub fn agent_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        own_port(workload)
            .or_else(|| proxy_config_port(workload))
            .unwrap_or_else(|| self.mesh_status_port(workload))
    }

    /// Returns the port that the redirect of this pod leaves alone for the agent.
    #[must_use]
    pub fn excluded_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        own_port(workload).unwrap_or_else(|| self.proxy_status_port(workload))
    }

    /// Returns the ports that the redirect is told to take, as written; `None` stands for all.
    #[must_use]
    pub fn included_ports(&self, workload: &Workload<'t>) -> Option<Fact<String>> {
        included_in(workload, &self.install(workload))
    }

    /// Returns the way of interception, as written; `None` stands for `REDIRECT`.
    #[must_use]
    pub fn interception_mode(&self, workload: &Workload<'t>) -> Option<Fact<String>> {
        mode_in(workload, &self.install(workload))
    }

    /// Returns a `Sidecar` of the namespace that says itself on which ports the proxy listens:
    /// with interception off, these are the only ones that the mesh knows of.
    #[must_use]
    pub fn declared_ingress(&self, workload: &Workload<'t>) -> Option<&Object<'t>> {
        let mut sidecars = self.beside(&self.inventory.mesh_signs, &workload.object);
        sidecars.find(|sidecar| {
            let spec = sidecar.node.get("spec");
            spec.and_then(|spec| spec.get("ingress")).is_some()
        })
    }

    /// Tells whether a connection to `port` of this pod ends at the sidecar.
    #[must_use]
    pub fn capture(&self, workload: &Workload<'t>, port: i64) -> Fact<bool> {
        let Ok(port) = u16::try_from(port) else {
            return Fact::settled(false, format!("{port} is no port"));
        };
        let redirect = self.redirect(workload);
        let capture = redirect.rules.capture(port);
        let (decider, said) = match capture {
            Capture::ByDefault => {
                let said = format!("the sidecar captures port {port}");
                return Fact::settled(true, said);
            }
            Capture::SidecarPort => {
                return Fact::settled(false, format!("port {port} belongs to the sidecar"));
            }
            Capture::Included => (&redirect.include, "the port is captured"),
            Capture::NotIncluded => (&redirect.include, "the port is not captured"),
            Capture::Excluded => (&redirect.exclude, "the port is not captured"),
            Capture::InterceptionOff => (&redirect.mode, "nothing is captured"),
        };
        match decider {
            Some(fact) => renamed(fact.clone(), said).map(|()| capture.is_captured()),
            None => Fact::settled(capture.is_captured(), said),
        }
    }

    /// Returns what decides about the ports of a pod; its lists may be as long as the list of its probes.
    fn redirect(&self, workload: &Workload<'t>) -> Arc<Redirect> {
        let (namespace, _) = self.namespace_of(&workload.object);
        let work_out = || Arc::new(self.read_redirect(workload));
        self.redirects.of(memo::pod(workload, namespace), work_out)
    }

    fn read_redirect(&self, workload: &Workload<'t>) -> Redirect {
        let view = self.install(workload);
        let mode = mode_in(workload, &view);
        let include = included_in(workload, &view);
        let exclude = own_text(workload, keys::EXCLUDE_INBOUND_PORTS)
            .or_else(|| view.fact(SETTLE, |one| one.exclude_inbound_ports.as_ref()));
        let excluded =
            own_port(workload).unwrap_or_else(|| self.proxy_status_port_in(workload, &view));
        let text = |fact: &Option<Fact<String>>| fact.as_ref().map(|fact| fact.value.clone());
        let (mode_text, include_text, exclude_text) = (text(&mode), text(&include), text(&exclude));
        let rules = CaptureRules::new(&CaptureInput {
            interception_mode: mode_text.as_deref(),
            include: include_text.as_deref(),
            exclude: exclude_text.as_deref(),
            status_port: u16::try_from(excluded.value).unwrap_or_default(),
            cni: self.cni_in(workload, &view).value,
        });
        let place = |fact: Option<Fact<String>>| fact.map(|fact| fact.map(|_| ()));
        Redirect {
            rules,
            mode: place(mode),
            include: place(include),
            exclude: place(exclude),
        }
    }
}

/// What decides which ports of a pod are captured, and the places that say so.
#[derive(Debug)]
pub(super) struct Redirect {
    rules: CaptureRules,
    mode: Option<Fact<()>>,
    include: Option<Fact<()>>,
    exclude: Option<Fact<()>>,
}

/// No option speaks of the redirect: the annotations of the pod do.
const SETTLE: &str = "traffic.sidecar.istio.io annotations";

fn mode_in(workload: &Workload<'_>, view: &InstallView<'_>) -> Option<Fact<String>> {
    own_text(workload, keys::INTERCEPTION_MODE)
        .or_else(|| proxy_config_mode(workload))
        .or_else(|| view.fact(SETTLE, |one| one.interception_mode.as_ref()))
}

fn included_in(workload: &Workload<'_>, view: &InstallView<'_>) -> Option<Fact<String>> {
    own_text(workload, keys::INCLUDE_INBOUND_PORTS)
        .or_else(|| view.fact(SETTLE, |one| one.include_inbound_ports.as_ref()))
}

/// Says what follows from a fact of the redirect.
fn renamed(mut fact: Fact<()>, said: &str) -> Fact<()> {
    if let Some(first) = fact.because.first_mut()
        && let Some(place) = &mut first.place
    {
        place.message = match place.message.as_str() {
            "" => said.to_owned(),
            what => format!("{said} ({what})"),
        };
        place.message.clone_into(&mut first.message);
    }
    fact
}

fn own_port(workload: &Workload<'_>) -> Option<Fact<i64>> {
    let entry = workload.template.annotation(keys::STATUS_PORT)?;
    let text = entry.value.text()?;
    // Go's Atoi: what it cannot read becomes 0. It reads a sign, but the validator does not.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|_| plain).unwrap_or(0);
    let place = workload
        .object
        .label_at(entry.value.span(), "the agent's port is set here");
    Some(Fact::known(port, place))
}

fn proxy_config_port(workload: &Workload<'_>) -> Option<Fact<i64>> {
    let port = proxy_config(workload)?.status_port()?;
    let place = proxy_config_place(workload, format!("the agent listens on port {port}"))?;
    Some(Fact::known(port, place))
}

fn proxy_config_mode(workload: &Workload<'_>) -> Option<Fact<String>> {
    let mode = proxy_config(workload)?.interception_mode()?.to_owned();
    let place = proxy_config_place(workload, String::new())?;
    Some(Fact::known(mode, place))
}

fn proxy_config_place(workload: &Workload<'_>, said: String) -> Option<Label> {
    let entry = workload.template.annotation(keys::PROXY_CONFIG)?;
    Some(workload.object.label_at(entry.value.span(), said))
}

fn own_text(workload: &Workload<'_>, key: &str) -> Option<Fact<String>> {
    let entry = workload.template.annotation(key)?;
    let text = entry.value.text()?.to_owned();
    Some(Fact::known(
        text,
        workload.object.label_at(entry.value.span(), ""),
    ))
}
