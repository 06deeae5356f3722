//! The probes of `predict`.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use super::{Fact, Text, assumptions, at, line, name, reasons};
use crate::error::clean;
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};
use meshprobe_report::PredictReport;

/// The prediction for one probe or hook.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Probe {
    /// The workload, as `namespace/Kind/name`.
    object: String,
    container: Option<String>,
    /// `livenessProbe`, `readinessProbe`, `startupProbe`, `postStart`, `preStop`, or `probe` of a WorkloadGroup.
    slot: &'static str,
    /// `httpGet`, `tcpSocket`, `grpc`, `exec` and others.
    kind: &'static str,
    /// The file and line of the probe.
    at: String,
    /// The kustomization or deploying object in which the prediction holds; missing for plain manifests.
    overlay: Option<String>,
    /// The mesh of the pod; missing if there is none.
    mesh: Option<&'static str>,
    /// `sidecar`, `ambient`, `uncaptured`, `none` or `unknown`.
    dataplane: Option<&'static str>,
    /// The mode of mutual TLS at the port, where it matters.
    mtls: Option<&'static str>,
    /// Whether the mesh rewrites the probe.
    rewritten: bool,
    /// The request of the kubelet after the rewrite.
    rewritten_to: Option<String>,
    /// `ok`, `fails`, `always-passes`, `target-changed`, `refused`, `broken-without-mesh`, `not-in-mesh` or `unknown`.
    outcome: &'static str,
    /// `known` and `default` rest on the files; `assumed` and `unknown` depend on the assumptions.
    certainty: &'static str,
    /// The text that the kubelet will print in the events of the pod.
    kubelet: Option<String>,
    /// The lines that decide.
    because: Vec<Fact>,
    /// Facts that the files do not state, each with the option that sets it.
    assumptions: Vec<String>,
}

/// Returns one item per probe of the workloads whose name contains `workload`.
pub(crate) fn probes(report: &PredictReport, workload: Option<&str>) -> Vec<Probe> {
    let pods = report.workloads.iter().chain(&report.machines);
    pods.filter(|pod| workload.is_none_or(|text| name(&pod.object).contains(text)))
        .flat_map(|pod| pod.handlers.iter().map(|handler| probe(pod, handler)))
        .collect()
}

fn probe(pod: &WorkloadReport, handler: &ProbeReport) -> Probe {
    let path = handler.path.as_deref().unwrap_or(&pod.path);
    Probe {
        object: name(&pod.object),
        container: (!pod.is_machine).then(|| clean(&handler.container)),
        slot: handler.slot,
        kind: handler.kind,
        at: at(path, handler.line),
        overlay: pod.overlay.as_deref().map(clean),
        mesh: pod.mesh.value,
        dataplane: (!pod.is_machine).then_some(pod.dataplane.value),
        mtls: handler.mtls,
        rewritten: handler.rewritten,
        rewritten_to: handler.rewritten_request().as_deref().map(clean),
        outcome: handler.outcome.as_str(),
        certainty: handler.certainty.as_str(),
        kubelet: handler.kubelet.as_deref().map(clean),
        because: Fact::all(&handler.because),
        assumptions: assumptions(&handler.assumptions),
    }
}

impl Probe {
    /// Returns whether the outcome is one that a user has to act on, or that is not known.
    pub(crate) fn is_fault(&self) -> bool {
        !matches!(self.outcome, "ok" | "not-in-mesh")
    }

    pub(crate) const fn outcome(&self) -> &'static str {
        self.outcome
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
