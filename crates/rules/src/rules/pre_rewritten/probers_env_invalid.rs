//! Rule `probers-env-invalid`, documented in `docs/rules/probers-env-invalid.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, ProberEnvFault, WorkloadPrediction};

use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;
use crate::rules::{Rule, RuleContext};

declare_rule! {
    "probers-env-invalid", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(ProberEnvFault::Invalid { path, why }) = &pod.prober_env_fault else {
        return Vec::new();
    };
    let entry = path
        .as_ref()
        .map_or_else(String::new, |path| format!("entry `{path}` "));
    let reason = format!(
        "the agent does not start with this `{}`: {entry}{why}",
        keys::PROBERS_ENV
    );
    let mut findings = agent_start_findings(&RULE, pod, &reason);
    for finding in &mut findings {
        let help = match path {
            Some(_) => "correct the entry, or remove it together with the probe that uses it",
            None => {
                "correct the JSON: it must be an object whose keys are paths, as the injector writes it"
            }
        };
        finding.help = Some(help.to_owned());
        finding.fix = path.as_ref().and_then(|path| resolve_port(pod, path));
    }
    findings
}

/// Returns one finding for each handler that fails because the agent does not start; if there is none, one
/// finding about the pod.
pub(in crate::rules) fn agent_start_findings(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    reason: &str,
) -> Vec<Finding> {
    let is_affected =
        |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::AgentRefusesEnv;
    let mut findings: Vec<Finding> = pod
        .handlers
        .iter()
        .filter(is_affected)
        .map(|handler| {
            let message = format!("{} will fail: {reason}", handler.title());
            prober_env::finding_on_handler(
                rule,
                pod,
                handler,
                message,
                "this handler is then refused",
            )
        })
        .collect();
    if findings.is_empty() {
        let message = format!("`{}` restarts in a loop: {reason}", keys::PROXY_CONTAINER);
        let mut finding = prober_env::finding_on_pod(rule, pod, message);
        finding.depend_on(&pod.dataplane);
        findings.push(finding);
    }
    findings
}

/// Returns the fix that replaces the port name of an entry by the number that the container of its path
/// declares.
fn resolve_port(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let name = env.port_name_of(path)?;
    let owner = path.split('/').nth(2)?;
    let containers = pod.workload.template.containers();
    let container = containers
        .iter()
        .find(|container| container.name() == owner)?;
    let declared = container
        .ports()
        .filter(|port| port.name == Some(name.as_str()));
    let number = match name.parse() {
        Ok(number) => number,
        Err(_) => declared.last()?.number?,
    };
    let change = prober_env::set_value(pod, env.with_port(path, number)?)?;
    let title = format!("set the port to {number}, which is port `{name}` of container `{owner}`");
    let object = &pod.workload.object;
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(format!(
            "the agent, which does not start now, then starts and checks port {number}"
        )),
        vec![change],
    ))
}
