//! Rule `localhost-destination-changed`, documented in `docs/rules/localhost-destination-changed.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Container;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "localhost-destination-changed", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let is_predicted_ok = handler.verdict.outcome == Outcome::Ok && action.host().is_none();
    if pod.dataplane.value != Dataplane::Sidecar || !is_predicted_ok {
        return None;
    }
    let port = pod.application_port(handler)?;
    let (argument, address) = loopback_listener(&handler.container, port)?;
    if cx.context.istio(&pod.workload).calls_localhost() {
        return None;
    }
    let caller = if handler.rewritten || handler.agent_path().is_some() {
        "the agent"
    } else {
        "the sidecar"
    };
    let message = format!(
        "{} seems to target an application that listens only on `{address}`: {caller} connects to \
         the address of the pod, where nothing listens",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.kubelet = None;
    let label = pod
        .workload
        .object
        .label_at(argument.span(), "the listen address is set here");
    finding.related.insert(0, label);
    finding.help = Some(format!(
        "listen on all addresses (`:{port}`), or use an exec probe"
    ));
    Some(finding)
}

/// Words in the name of an option or a variable that sets the address on which the application listens.
const LISTEN_WORDS: [&str; 3] = ["listen", "bind", "addr"];

/// Words in the name of an option or a variable that sets the address of another server.
const REMOTE_WORDS: [&str; 7] = [
    "upstream",
    "backend",
    "target",
    "remote",
    "peer",
    "connect",
    "advertise",
];

/// Short options that set the listen address in many servers.
const SHORT_OPTIONS: [&str; 3] = ["-b", "-l", "-S"];

/// Returns the argument or the variable that makes a container listen on a loopback address with the port, and the
/// address.
fn loopback_listener<'t>(container: &Container<'t>, port: i64) -> Option<(NodeRef<'t>, String)> {
    let hosts = ["127.0.0.1", "localhost", "[::1]"];
    let addresses = hosts.map(|host| format!("{host}:{port}"));
    let parse_address = |text: &str| {
        let without_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
        addresses
            .iter()
            .find(|address| without_scheme.trim_end_matches('/') == *address)
            .cloned()
    };
    let items = ["command", "args"].into_iter().flat_map(|list| {
        container
            .node
            .get(list)
            .into_iter()
            .flat_map(NodeRef::items)
    });
    let mut option = "";
    for item in items {
        // The script of a shell is one argument that contains several words.
        for word in item.text().unwrap_or_default().split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((option, word));
            if sets_listen_address(name)
                && let Some(address) = parse_address(value)
            {
                return Some((item, address));
            }
            option = word;
        }
    }
    container
        .node
        .get("env")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter(|variable| {
            variable
                .get("name")
                .and_then(NodeRef::text)
                .is_some_and(sets_listen_address)
        })
        .find_map(|variable| {
            let value = variable.get("value")?;
            Some((value, parse_address(value.text()?)?))
        })
}

fn sets_listen_address(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let contains_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    SHORT_OPTIONS.contains(&name) || contains_any(&LISTEN_WORDS) && !contains_any(&REMOTE_WORDS)
}
