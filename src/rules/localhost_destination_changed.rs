//! Rule `localhost-destination-changed`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::Container;
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds probes of applications that seem to listen on 127.0.0.1 only.
    ///
    /// ## What it checks
    /// A probe over the network, in a pod with a sidecar, whose container is told by an argument or a variable
    /// to listen on `127.0.0.1`, `localhost` or `[::1]` with the very port (`--listen=127.0.0.1:8080`).
    ///
    /// ## Why it matters
    /// The kubelet asks the address of the pod, and so does the agent since Istio 1.10: a loopback address answers
    /// neither, and the probe fails. Up to 1.9 the agent asked localhost, so such a probe worked in the mesh.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       args:
    ///         - --listen=127.0.0.1:8080
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       args:
    ///         - --listen=0.0.0.0:8080
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what the application may listen on is for you to say.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio documentation: "Health Checking of Istio Services"
    "localhost-destination-changed", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let is_fine = handler.verdict.outcome == Outcome::Ok && action.host().is_none();
    if pod.dataplane.value != Dataplane::Sidecar || !is_fine {
        return None;
    }
    let port = pod.application_port(handler)?;
    let (listens, address) = loopback(&handler.container, port)?;
    if scene.context.calls_localhost(&pod.workload) {
        return None;
    }
    let caller = if handler.rewritten || handler.agent_path().is_some() {
        "the agent"
    } else {
        "the sidecar"
    };
    let message = format!(
        "{} seems to ask an application that listens on {address} only: {caller} calls the address \
         of the pod, where nobody answers",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    finding.kubelet = None;
    let said = "listens here";
    let place = pod.workload.object.label_at(listens.span(), said);
    finding.related.insert(0, place);
    finding.help = Some(format!(
        "listen on all addresses (`:{port}`), or use an exec probe"
    ));
    Some(finding)
}

/// Words in the name of an option or a variable that say what the application listens on.
const LISTENING: [&str; 3] = ["listen", "bind", "addr"];

/// Words that say that it is somebody else who listens.
const CALLING: [&str; 7] = [
    "upstream",
    "backend",
    "target",
    "remote",
    "peer",
    "connect",
    "advertise",
];

/// Short options that many servers listen by.
const SHORT: [&str; 3] = ["-b", "-l", "-S"];

/// Returns the argument or the variable that has a container listen on a loopback address, and
/// the address.
fn loopback<'t>(container: &Container<'t>, port: i64) -> Option<(NodeRef<'t>, String)> {
    let hosts = ["127.0.0.1", "localhost", "[::1]"];
    let wanted = hosts.map(|host| format!("{host}:{port}"));
    let of = |text: &str| {
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let found = wanted
            .iter()
            .find(|address| bare.trim_end_matches('/') == *address);
        found.cloned()
    };
    let lists = ["command", "args"].into_iter();
    let items = lists.flat_map(|list| {
        container
            .node
            .get(list)
            .into_iter()
            .flat_map(NodeRef::items)
    });
    let mut option = "";
    for item in items {
        // A shell is given all its words at once.
        for word in item.text().unwrap_or_default().split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((option, word));
            if is_listening(name)
                && let Some(address) = of(value)
            {
                return Some((item, address));
            }
            option = word;
        }
    }
    let env = container
        .node
        .get("env")
        .into_iter()
        .flat_map(NodeRef::items);
    env.filter(|variable| {
        let name = variable.get("name").and_then(NodeRef::text);
        name.is_some_and(is_listening)
    })
    .find_map(|variable| {
        let value = variable.get("value")?;
        Some((value, of(value.text()?)?))
    })
}

fn is_listening(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    SHORT.contains(&name) || says(&LISTENING) && !says(&CALLING)
}
