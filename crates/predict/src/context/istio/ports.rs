//! The three ports of the agent, and the capture of inbound ports.
//!
//! Three sources decide about the port that rewritten probes target, the port that the agent listens
//! on and the port that the capture excludes for it (Istio 1.31): `pkg/kube/inject/app_probe.go`,
//! `pilot/cmd/pilot-agent/config/config.go`, and `files/injection-template.yaml` of the chart
//! istio-discovery.

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::capture::{Capture, CaptureInput, CaptureRules};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::prometheus::{
    PORTS_CHECKED, ScrapeFault, merge_of_pod, scrape_fault,
};

use super::install::view::InstallView;
use super::rewriting::proxy_config;
use crate::context::istio::pod_facts::{CaptureFacts, PodFacts};

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the port that rewritten probes of this pod target. `proxy.istio.io/config` does not
    /// matter: the webhook does not read it.
    #[must_use]
    pub fn status_port(&self) -> Fact<i64> {
        annotated_port(self.workload).unwrap_or_else(|| self.mesh_status_port())
    }

    /// Returns the port that the agent of this pod listens on.
    #[must_use]
    pub fn agent_port(&self) -> Fact<i64> {
        annotated_port(self.workload)
            .or_else(|| proxy_config_port(self.workload))
            .unwrap_or_else(|| self.mesh_status_port())
    }

    /// Returns the port that the capture of this pod excludes for the agent.
    #[must_use]
    pub fn excluded_port(&self) -> Fact<i64> {
        annotated_port(self.workload).unwrap_or_else(|| self.proxy_status_port())
    }

    /// Returns the captured ports as written; `None` means all ports.
    #[must_use]
    pub fn included_ports(&self) -> Option<Fact<String>> {
        included_in(self.workload, self.view())
    }

    /// Returns the interception mode as written; `None` means `REDIRECT`.
    #[must_use]
    pub fn interception_mode(&self) -> Option<Fact<String>> {
        mode_in(self.workload, self.view())
    }

    /// Returns a `Sidecar` of the namespace that declares the ports on which the proxy listens. With
    /// interception off, these are the only ports that the mesh knows.
    #[must_use]
    pub fn declared_ingress(&self) -> Option<&'c Object<'t>> {
        let mut sidecars = self
            .context
            .namespace_of(&self.workload.object)
            .facts(&self.context.inventory.sidecar_resources);
        sidecars.find(|sidecar| {
            let spec = sidecar.node.get("spec");
            spec.and_then(|spec| spec.get("ingress")).is_some()
        })
    }

    /// Returns whether the sidecar captures connections to `port` of this pod.
    #[must_use]
    pub fn capture(&self, port: i64) -> Fact<bool> {
        let Ok(port) = u16::try_from(port) else {
            return Fact::settled(false, format!("{port} is not a port"));
        };
        let capture_facts = self.capture.get_or_init(|| self.read_capture_facts());
        let capture = capture_facts.rules.capture(port);
        let (decider, message) = match capture {
            Capture::ByDefault => {
                let message = format!("the sidecar captures port {port}");
                return Fact::settled(true, message);
            }
            Capture::SidecarPort => {
                return Fact::settled(false, format!("port {port} belongs to the sidecar"));
            }
            Capture::Included => (&capture_facts.include, "the port is captured"),
            Capture::NotIncluded => (&capture_facts.include, "the port is not captured"),
            Capture::Excluded => (&capture_facts.exclude, "the port is not captured"),
            Capture::InterceptionOff => (&capture_facts.mode, "no port is captured"),
        };
        match decider {
            Some(fact) => with_consequence(fact.clone(), message).map(|()| capture.is_captured()),
            None => Fact::settled(capture.is_captured(), message),
        }
    }

    fn read_capture_facts(&self) -> CaptureFacts {
        let view = self.view();
        let mode = mode_in(self.workload, view);
        let include = included_in(self.workload, view);
        let exclude = annotation_text(self.workload, keys::EXCLUDE_INBOUND_PORTS)
            .or_else(|| view.fact(SETTLE, |plane| plane.exclude_inbound_ports.as_ref()));
        let excluded = annotated_port(self.workload).unwrap_or_else(|| self.proxy_status_in(view));
        let text = |fact: &Option<Fact<String>>| fact.as_ref().map(|fact| fact.value.clone());
        let (mode_text, include_text, exclude_text) = (text(&mode), text(&include), text(&exclude));
        let rules = CaptureRules::new(&CaptureInput {
            interception_mode: mode_text.as_deref(),
            include: include_text.as_deref(),
            exclude: exclude_text.as_deref(),
            status_port: u16::try_from(excluded.value).unwrap_or_default(),
            cni: self.cni_in(view).value,
        });
        let place = |fact: Option<Fact<String>>| fact.map(|fact| fact.map(|_| ()));
        CaptureFacts {
            rules,
            mode: place(mode),
            include: place(include),
            exclude: place(exclude),
        }
    }
}

/// What settles the capture: only the annotations of the pod, because no option sets it.
const SETTLE: &str = "traffic.sidecar.istio.io annotations";

fn mode_in(workload: &Workload<'_>, view: &InstallView<'_>) -> Option<Fact<String>> {
    annotation_text(workload, keys::INTERCEPTION_MODE)
        .or_else(|| proxy_config_mode(workload))
        .or_else(|| view.fact(SETTLE, |plane| plane.interception_mode.as_ref()))
}

fn included_in(workload: &Workload<'_>, view: &InstallView<'_>) -> Option<Fact<String>> {
    annotation_text(workload, keys::INCLUDE_INBOUND_PORTS)
        .or_else(|| view.fact(SETTLE, |plane| plane.include_inbound_ports.as_ref()))
}

/// Puts `message` in front of the message of a fact, which states what follows from it.
fn with_consequence(mut fact: Fact<()>, message: &str) -> Fact<()> {
    if let Some(first) = fact.because.first_mut()
        && let Some(place) = &mut first.place
    {
        place.message = match place.message.as_str() {
            "" => message.to_owned(),
            what => format!("{message} ({what})"),
        };
        place.message.clone_into(&mut first.message);
    }
    fact
}

fn annotated_port(workload: &Workload<'_>) -> Option<Fact<i64>> {
    let entry = workload.template.annotation(keys::STATUS_PORT)?;
    let text = entry.value.text()?;
    // Go's Atoi: a value that it cannot parse becomes 0. Atoi accepts a sign, the validator does not.
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

fn proxy_config_place(workload: &Workload<'_>, message: String) -> Option<Label> {
    let entry = workload.template.annotation(keys::PROXY_CONFIG)?;
    Some(workload.object.label_at(entry.value.span(), message))
}

fn annotation_text(workload: &Workload<'_>, key: &str) -> Option<Fact<String>> {
    let entry = workload.template.annotation(key)?;
    let text = entry.value.text()?.to_owned();
    Some(Fact::known(
        text,
        workload.object.label_at(entry.value.span(), ""),
    ))
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the annotation about metrics for which the injector refuses the pods; `None` if it accepts them. The
    /// certainty is that of the release, of the setting of the mesh, and of the port of the agent.
    #[must_use]
    pub fn scrape_fault(&self) -> Option<Fact<ScrapeFault<'t>>> {
        let version = self.version();
        if version.value.is_some_and(|version| version < PORTS_CHECKED) {
            return None;
        }
        let agent = self.mesh_status_port();
        let fault = scrape_fault(&self.workload.template, agent.value)?;
        let merge = self.merges_metrics();
        if !merge.value {
            return None;
        }
        let message = format!(
            "the injector refuses the pod: annotation `{}` is invalid ({})",
            fault.entry.key.text().unwrap_or_default(),
            fault.reason
        );
        let object = &self.workload.object;
        let place = object.label_at(fault.entry.value.span(), message);
        let is_of_agent = fault.is_of_agent;
        let fact = Fact::known(fault, place)
            .depending_on(&version)
            .depending_on(&merge);
        Some(if is_of_agent {
            fact.depending_on(&agent)
        } else {
            fact
        })
    }

    /// Returns whether the agent merges the metrics of the application with those of the sidecar.
    fn merges_metrics(&self) -> Fact<bool> {
        let template = &self.workload.template;
        if let (Some(merge), Some(entry)) = (
            merge_of_pod(template),
            template.annotation(keys::MERGE_METRICS),
        ) {
            let message = format!("metrics are merged: {merge}");
            let place = self.workload.object.label_at(entry.value.span(), message);
            return Fact::known(merge, place);
        }
        let view = self.view();
        if let Some(fact) = view.fact(keys::MERGE_METRICS, |plane| plane.prometheus_merge.as_ref())
        {
            return fact;
        }
        let default = Fact {
            certainty: Certainty::Default,
            ..Fact::settled(true, "metrics are merged (default)")
        };
        match view.unread() {
            Some(unread) => default.depending_on(&unread),
            None => default,
        }
    }
}
