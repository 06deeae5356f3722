//! Rule `lifecycle-key-needs-1-25`, documented in `docs/rules/lifecycle-key-needs-1-25.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Port;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{ProberEnvFault, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::pre_rewritten::probers_env_invalid::agent_start_findings;
use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;

declare_rule! {
    "lifecycle-key-needs-1-25", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(ProberEnvFault::Hook { path }) = &pod.prober_env_fault else {
        return Vec::new();
    };
    let release = pod.release.value;
    let release = release.map_or_else(String::new, |release| release.to_string());
    let reason = format!(
        "the agent of Istio {release} does not start with entry `{path}` of `{}`, because it does \
         not support hooks",
        keys::PROBERS_ENV,
    );
    let fix = restore(pod, path);
    let mut findings = agent_start_findings(&RULE, pod, &reason);
    for finding in &mut findings {
        finding.help =
            Some("upgrade to Istio 1.25, or do not rewrite hooks ahead of deployment".to_owned());
        finding.fix.clone_from(&fix);
        finding.depend_on(&pod.release);
    }
    findings
}

/// Returns the fix that restores the hook that requests `path` from its entry, and removes the entry.
fn restore(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let mut changes = vec![prober_env::set_value(pod, env.without(path)?)?];
    let mut hooks = pod.handlers.iter();
    if let Some(hook) = hooks.find(|handler| handler.agent_path() == Some(path)) {
        let recorded = env.plain_http_of(path)?;
        let route = hook.handler.route.child("httpGet");
        let mut set = |field: &'static str, value: Value| {
            changes.push(Change::Set {
                route: route.child(field),
                value,
            });
        };
        set("path", Value::Str(recorded.path));
        if let Port::Number(port) = recorded.port {
            set("port", Value::Int(port));
        }
        if recorded.scheme != "HTTP" {
            set("scheme", Value::Str(recorded.scheme));
        }
    }
    let object = &pod.workload.object;
    let (title, reason) = if changes.len() > 1 {
        (
            format!("restore the original hook, and remove the entry `{path}`"),
            "the kubelet then calls the application directly instead of through the agent",
        )
    } else {
        (
            format!("remove the entry `{path}`"),
            "the agent, which does not start now, then starts",
        )
    };
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(reason),
        changes,
    ))
}
