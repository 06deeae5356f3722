//! The probes of a tree for which a pasted text is predicted.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::Finding;
use meshprobe_rules::symptoms::{Match, Pasted};

use super::outcome::Outcome;
use super::probe_report::{ProbeReport, WorkloadReport};

/// A probe that a symptom may be about.
#[derive(Clone, Debug)]
pub struct SymptomProbe<'a> {
    /// Its workload.
    pub workload: &'a WorkloadReport,
    /// The probe.
    pub probe: &'a ProbeReport,
    /// The rules that report it.
    pub rules: Vec<&'static str>,
    /// Whether the pasted text contains the predicted text, apart from addresses.
    pub is_same_text: bool,
}

impl SymptomProbe<'_> {
    /// Returns the file that the user edits.
    #[must_use]
    pub fn path(&self) -> &str {
        self.probe.path.as_ref().unwrap_or(&self.workload.path)
    }
}

/// Returns the probes for which the pasted text is predicted. If there are none, returns the probes for which another
/// text of the same symptom is predicted, such as one with another port, or whose rule the page of the symptom names.
#[must_use]
pub fn symptom_probes<'a>(
    workloads: &'a [WorkloadReport],
    checked: &Outcome,
    text: &str,
    found: &[Match],
) -> Vec<SymptomProbe<'a>> {
    let findings = checked.all().into_iter().chain(&checked.switched_off);
    let findings: Vec<&Finding> = findings.collect();
    let pasted = Pasted::new(text, found);
    let mut known = BTreeSet::new();
    let mut probes: Vec<SymptomProbe<'_>> = Vec::new();
    for workload in workloads.iter().filter(|workload| !workload.is_machine) {
        for probe in &workload.handlers {
            let Some(found) = symptom_probe(&pasted, workload, probe, &findings) else {
                continue;
            };
            // Several overlays may deploy one probe.
            let place = (probe.place.path.clone(), probe.place.span);
            let prediction = (probe.why, probe.kubelet.as_deref(), found.rules.clone());
            if known.insert((&workload.title, place, prediction)) {
                probes.push(found);
            }
        }
    }
    if probes.iter().any(|probe| probe.is_same_text) {
        probes.retain(|probe| probe.is_same_text);
    }
    probes
}

/// Returns the entry of a probe if the text may be about it.
fn symptom_probe<'a>(
    pasted: &Pasted<'_>,
    workload: &'a WorkloadReport,
    probe: &'a ProbeReport,
    findings: &[&Finding],
) -> Option<SymptomProbe<'a>> {
    if !probe.outcome.is_bad() && !probe.outcome.is_invalid() {
        return None;
    }
    let is_about = |finding: &&&Finding| {
        let place = finding.probe.as_ref();
        place
            .is_some_and(|place| (&place.path, place.span) == (&probe.place.path, probe.place.span))
    };
    let reported: Vec<&Finding> = findings.iter().filter(is_about).copied().collect();
    let kubelet = probe.kubelet.as_deref();
    let is_same_text = kubelet.is_some_and(|text| pasted.contains(text));
    if !is_same_text && !pasted.is_similar(kubelet, &reported) {
        return None;
    }
    let rules: BTreeSet<&str> = reported
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    Some(SymptomProbe {
        workload,
        probe,
        rules: rules.into_iter().collect(),
        is_same_text,
    })
}
