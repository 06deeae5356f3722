//! The report of `predict`.

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::clean::{clean, clean_all};
use super::fact::{Fact, ReportedFact};
use super::object::Object;
use super::{Text, at, line, not_judged, reasons};

/// The report of `predict --output-format json`.
#[derive(Debug, Deserialize)]
pub(in crate::mcp) struct PredictReport {
    workloads: Vec<Workload>,
    #[serde(default)]
    machines: Vec<Machine>,
    pub(in crate::mcp) not_judged: Vec<not_judged::Reported>,
}

#[derive(Debug, Deserialize)]
struct Workload {
    path: String,
    object: Object,
    overlay: Option<String>,
    mesh: Value,
    dataplane: Value,
    handlers: Vec<Handler>,
}

#[derive(Debug, Deserialize)]
struct Value {
    value: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Handler {
    container: String,
    slot: String,
    kind: String,
    path: Option<String>,
    line: Option<u64>,
    rewritten: bool,
    mtls: Option<String>,
    outcome: String,
    certainty: String,
    kubelet: Option<String>,
    becomes: Option<Becomes>,
    assumptions: Vec<String>,
    because: Vec<ReportedFact>,
}

#[derive(Debug, Deserialize)]
struct Becomes {
    #[serde(rename = "httpGet")]
    http_get: HttpGet,
}

#[derive(Debug, Deserialize)]
struct HttpGet {
    path: String,
    port: i64,
    scheme: Option<String>,
}

/// The check of a WorkloadGroup, a virtual machine.
#[derive(Debug, Deserialize)]
struct Machine {
    path: String,
    object: Object,
    overlay: Option<String>,
    kind: String,
    line: Option<u64>,
    outcome: String,
    certainty: String,
    assumptions: Vec<String>,
    because: Vec<ReportedFact>,
}

/// The prediction for one probe or hook.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::mcp) struct Probe {
    /// The workload, as `namespace/Kind/name`.
    object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// `livenessProbe`, `readinessProbe`, `startupProbe`, `postStart`, `preStop`, or `probe` of a WorkloadGroup.
    slot: String,
    /// `httpGet`, `tcpSocket`, `grpc`, `exec` and others.
    kind: String,
    /// The file and line of the probe.
    at: String,
    /// The kustomization or deploying object in which the prediction holds; missing for plain manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlay: Option<String>,
    /// The mesh of the pod; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<String>,
    /// `sidecar`, `ambient`, `uncaptured`, `none` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dataplane: Option<String>,
    /// The mode of mutual TLS at the port, where it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtls: Option<String>,
    /// Whether the mesh rewrites the probe.
    rewritten: bool,
    /// The request of the kubelet after the rewrite.
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten_to: Option<String>,
    /// `ok`, `fails`, `always-passes`, `target-changed`, `refused`, `broken-without-mesh`, `not-in-mesh` or `unknown`.
    outcome: String,
    /// `known` and `default` rest on the files; `assumed` and `unknown` depend on the assumptions.
    certainty: String,
    /// The text that the kubelet will print in the events of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubelet: Option<String>,
    /// The lines that decide.
    because: Vec<Fact>,
    /// Facts that the files do not state, each with the option that sets it.
    assumptions: Vec<String>,
}

impl PredictReport {
    /// Returns one item per probe of the workloads whose name contains `workload`.
    pub(in crate::mcp) fn probes(&self, workload: Option<&str>) -> Vec<Probe> {
        let matches = |object: &Object| workload.is_none_or(|text| object.matches(text));
        let pods = self
            .workloads
            .iter()
            .filter(|pod| matches(&pod.object))
            .flat_map(|pod| pod.handlers.iter().map(|handler| of_handler(pod, handler)));
        let machines = self
            .machines
            .iter()
            .filter(|machine| matches(&machine.object));
        pods.chain(machines.map(of_machine)).collect()
    }
}

fn of_handler(pod: &Workload, handler: &Handler) -> Probe {
    let path = handler.path.as_deref().unwrap_or(&pod.path);
    let request = handler.becomes.as_ref().map(|becomes| {
        let HttpGet { path, port, scheme } = &becomes.http_get;
        let scheme = scheme.as_deref().unwrap_or("HTTP");
        clean(&format!("{scheme} GET :{port}{path}"))
    });
    Probe {
        object: pod.object.name(),
        container: Some(clean(&handler.container)),
        slot: handler.slot.clone(),
        kind: handler.kind.clone(),
        at: at(path, handler.line),
        overlay: pod.overlay.as_deref().map(clean),
        mesh: pod.mesh.value.clone(),
        dataplane: pod.dataplane.value.clone(),
        mtls: handler.mtls.clone(),
        rewritten: handler.rewritten,
        rewritten_to: request,
        outcome: handler.outcome.clone(),
        certainty: handler.certainty.clone(),
        kubelet: handler.kubelet.as_deref().map(clean),
        because: Fact::all(&handler.because),
        assumptions: clean_all(&handler.assumptions),
    }
}

fn of_machine(machine: &Machine) -> Probe {
    Probe {
        object: machine.object.name(),
        container: None,
        slot: "probe".into(),
        kind: machine.kind.clone(),
        at: at(&machine.path, machine.line),
        overlay: machine.overlay.as_deref().map(clean),
        mesh: None,
        dataplane: None,
        mtls: None,
        rewritten: false,
        rewritten_to: None,
        outcome: machine.outcome.clone(),
        certainty: machine.certainty.clone(),
        kubelet: None,
        because: Fact::all(&machine.because),
        assumptions: clean_all(&machine.assumptions),
    }
}

impl Probe {
    /// Returns whether the outcome is one that a user has to act on, or that is not known.
    pub(in crate::mcp) fn is_fault(&self) -> bool {
        !matches!(self.outcome.as_str(), "ok" | "not-in-mesh")
    }

    pub(in crate::mcp) fn outcome(&self) -> &str {
        &self.outcome
    }
}

impl Text for Probe {
    fn write(&self, out: &mut String) {
        let container = self.container.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "{} {} {} {container} ({}): {} ({})\n",
            self.at, self.object, self.slot, self.kind, self.outcome, self.certainty
        ));
        line(out, "overlay", self.overlay.as_deref());
        line(out, "rewritten to", self.rewritten_to.as_deref());
        line(out, "kubelet", self.kubelet.as_deref());
        reasons(out, &self.because, &self.assumptions);
    }
}
