//! Rule `rewritten-without-entry`, documented in `docs/rules/rewritten-without-entry.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::pre_rewritten::manual_probers_env::written_twice;
use crate::rules::rule::declare_rule;

declare_rule! {
    "rewritten-without-entry", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            handler.verdict.cause == Cause::RewrittenWithoutEntry && written_twice(pod).is_none()
        })
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let written = handler.agent_path().unwrap_or_default();
    // With the rewrite on, the injector sets the path again.
    let requested = handler
        .rewritten_to
        .as_ref()
        .map_or(written, |rewritten_to| rewritten_to.path.as_str());
    let env = pod.prober_env.as_ref();
    let why = match env {
        Some(_) => format!("`{}` has no entry for it", keys::PROBERS_ENV),
        None => format!("no `{}` defines the check", keys::PROBERS_ENV),
    };
    let message = format!(
        "{} will fail: it requests `{requested}` from the agent, but {why}",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    if let Some(env) = env {
        let message = "the entries of the agent";
        let label = pod.workload.object.label_at(env.span, message);
        finding.related.insert(0, label);
    }
    let known: Vec<&str> = env
        .and_then(|env| env.probers.as_ref().ok())
        .into_iter()
        .flatten()
        .map(|(path, _)| path.as_str())
        .collect();
    finding.help = Some(if requested != written && known.contains(&written) {
        format!("the entry is for `{written}`, but the injector changes the path to `{requested}`")
    } else if pod.rewrite.value {
        "restore the path and port of the application; the mesh rewrites the probe itself"
            .to_owned()
    } else {
        "restore the path and port of the application, or add the entry".to_owned()
    });
    finding
}
