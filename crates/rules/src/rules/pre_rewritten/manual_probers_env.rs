//! Rule `manual-probers-env`, documented in `docs/rules/manual-probers-env.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::proxy_container;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;

declare_rule! {
    "manual-probers-env", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    match handler.verdict.cause {
        Cause::EntryReplaced => Some(replaced(pod, handler)),
        Cause::RewrittenWithoutEntry => Some(doubled(pod, handler, written_twice(pod)?)),
        _ => None,
    }
}

fn replaced(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let message = format!(
        "{} will fail: the injector adds a second `{}` for handlers that are not rewritten yet, and \
         the one in the manifest is lost",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let env = pod.prober_env.as_ref();
    let lost = env.map(|env| object.label_at(env.span, "this variable is lost"));
    let rewritten = rewritten_by_injector(pod).map(|handler| {
        let message = "the injector rewrites this handler";
        object.label_at(handler.handler.key.span(), message)
    });
    finding
        .related
        .splice(0..0, lost.into_iter().chain(rewritten));
    finding.help = Some(format!(
        "also rewrite the other handlers ahead of deployment, or set `{}` to \"false\"",
        keys::REWRITE_PROBERS
    ));
    finding.fix = Some(prober_env::opt_out_fix(pod));
    finding
}

fn doubled(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    first: NodeRef<'_>,
) -> Finding {
    let message = format!(
        "{} will fail: `{}` is set twice, and only the last variable counts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let label = pod
        .workload
        .object
        .label_at(first.span(), "this variable is lost");
    finding.related.insert(0, label);
    finding.help = Some("merge the entries into one variable".to_owned());
    finding
}

/// Returns the first handler that makes the injector add a variable of its own: a handler of the application,
/// or one that targets the agent on a port other than the status port of the mesh.
fn rewritten_by_injector<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> Option<&'p HandlerPrediction<'t>> {
    let mut rewritten = pod.handlers.iter().filter(|handler| handler.rewritten);
    rewritten.find(|handler| {
        let other_port = [Cause::AgentCallsItself, Cause::RewrittenOtherPort];
        handler.agent_path().is_none() || other_port.contains(&handler.verdict.cause)
    })
}

/// Returns the node of the first variable's name if the container sets the prober env twice.
pub(in crate::rules) fn written_twice<'t>(pod: &WorkloadPrediction<'t>) -> Option<NodeRef<'t>> {
    let env = proxy_container(&pod.workload)?.node.get("env")?;
    let mut names = env
        .items()
        .filter_map(|item| item.get("name"))
        .filter(|name| name.text() == Some(keys::PROBERS_ENV));
    let first = names.next()?;
    names.next().map(|_| first)
}
