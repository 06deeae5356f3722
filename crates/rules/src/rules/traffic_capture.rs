//! Rules for the inbound ports that the sidecar captures.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{Container, Object, Workload, integer, selects_workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, NodeRef};

use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::{Rule, RuleContext};

crate::rules::rule::rules! {
    EXCLUDE_IGNORED_WITH_INCLUDE_LIST = "exclude-ignored-with-include-list", Warning, fix: Always, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
            .filter_map(exclude_ignored_with_include_list).collect();
    INBOUND_CAPTURE_OFF = "inbound-capture-off", Warning, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
            .filter_map(|pod| inbound_capture_off(cx, pod)).collect();
    INTERCEPTION_NONE_NO_INGRESS = "interception-none-no-ingress", Note, fix: None, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
            .filter_map(|pod| interception_none_no_ingress(cx, pod)).collect();
    LOCALHOST_DESTINATION_CHANGED = "localhost-destination-changed", Note, fix: None, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| localhost_destination_changed(cx, pod, handler));
    PROBE_PORT_EXCLUDED_CLEARTEXT = "probe-port-excluded-cleartext", Warning, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
            .flat_map(|pod| probe_port_excluded_cleartext(cx, pod)).collect();
    SIDECAR_INGRESS_TLS_IGNORED = "sidecar-ingress-tls-ignored", Note, fix: None, scope: Tree,
        check_sidecar_ingress_tls_ignored;
}

fn exclude_ignored_with_include_list(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let include = template.annotation(keys::INCLUDE_INBOUND_PORTS)?;
    let exclude = template.annotation(keys::EXCLUDE_INBOUND_PORTS)?;
    let list = include.value.text()?;
    let included: Vec<i64> = annotations::ports(list).collect();
    let in_both_lists: Vec<i64> = annotations::ports(exclude.value.text()?)
        .filter(|port| included.contains(port))
        .collect();
    let first = in_both_lists.first()?;
    let message = format!(
        "port {first} is still captured: Istio ignores `excludeInboundPorts` if \
         `includeInboundPorts` lists ports"
    );
    let mut finding = pod_metadata::finding_on_entry(
        &EXCLUDE_IGNORED_WITH_INCLUDE_LIST,
        workload,
        MetadataMap::Annotation,
        exclude,
        message,
    );
    finding.relate(workload.object.label_at(
        pod_metadata::value_span(include),
        "exactly these ports are captured",
    ));
    finding.depend_on(&pod.dataplane);
    let remaining = in_both_lists
        .iter()
        .fold(list.to_owned(), |remaining, port| {
            pod_metadata::without_port(&remaining, *port)
        });
    let help = format!("remove {first} from `includeInboundPorts` or from this annotation");
    finding.help = Some(help);
    let change = Change::set(
        template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        remaining,
    );
    let title = "remove the excluded ports from `includeInboundPorts`";
    finding.fix = Some(Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because("the sidecar then no longer captures these ports"),
        vec![change],
    ));
    Some(finding)
}

fn inbound_capture_off<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let list = cx.context.pod_facts(workload).included_ports()?;
    let mtls = strict_mode(cx, pod)?;
    let mode = cx.context.pod_facts(workload).interception_mode();
    if !list.value.trim().is_empty() || mode.is_some_and(|mode| mode.value == "NONE") {
        return None;
    }
    let message = "`includeInboundPorts` is empty: no inbound traffic reaches the sidecar, so \
                   `STRICT` mutual TLS is not enforced and plain text is accepted";
    let own = workload.template.annotation(keys::INCLUDE_INBOUND_PORTS);
    let facts = (&list, &mtls);
    let mut finding =
        finding_on_unenforced_mtls(&INBOUND_CAPTURE_OFF, pod, own, facts, message.to_owned());
    finding.help =
        Some("set it to `*` to capture all ports, or list the ports to capture".to_owned());
    finding.fix = own.map(|_| {
        pod_metadata::removal_fix(
            pod,
            MetadataMap::Annotation,
            keys::INCLUDE_INBOUND_PORTS,
            "remove the annotation, so that all ports are captured",
            Applicability::unsafe_because("the sidecar then refuses clients that send plain text"),
        )
    });
    Some(finding)
}

fn interception_none_no_ingress<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let mode = cx.context.pod_facts(workload).interception_mode()?;
    let mtls = strict_mode(cx, pod)?;
    let ports = cx.context.pod_facts(workload);
    if mode.value != "NONE" || ports.declared_ingress().is_some() {
        return None;
    }
    let message =
        "interception mode is `NONE` and no `Sidecar` declares ingress ports: probes and \
                   clients reach the application directly, so `STRICT` mutual TLS is not enforced"
            .to_owned();
    let template = &workload.template;
    let annotation = template
        .annotation(keys::INTERCEPTION_MODE)
        .or_else(|| template.annotation(keys::PROXY_CONFIG))
        .filter(|_| is_from_file_of(workload, &mode));
    let facts = (&mode, &mtls);
    let mut finding = finding_on_unenforced_mtls(
        &INTERCEPTION_NONE_NO_INGRESS,
        pod,
        annotation,
        facts,
        message,
    );
    finding.help =
        Some("declare the ports under `ingress` of a `Sidecar`, or enable interception".to_owned());
    Some(finding)
}

/// Returns whether a fact comes from the file of a workload.
fn is_from_file_of<T>(workload: &Workload<'_>, fact: &Fact<T>) -> bool {
    let workload_path = workload
        .object
        .label_at(workload.object.name_span(), "")
        .path;
    fact.because
        .iter()
        .filter_map(|reason| reason.place.as_ref())
        .any(|place| place.path == workload_path)
}

fn localhost_destination_changed<'t>(
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
    if cx.context.pod_facts(&pod.workload).calls_localhost() {
        return None;
    }
    let caller = if handler.rewritten || handler.agent_path().is_some() {
        "the agent"
    } else {
        "the sidecar"
    };
    let sentence = Sentence::verb(
        ("seems", "seem"),
        format!(
            " to target an application that listens only on `{address}`: {caller} connects to the address of the pod, where nothing listens"
        ),
    );
    let span = handler.handler.key.span();
    let mut finding =
        LOCALHOST_DESTINATION_CHANGED.finding_on_handler(pod, handler, span, sentence);
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

fn probe_port_excluded_cleartext<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::EXCLUDE_INBOUND_PORTS) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    annotations::ports(list).filter_map(|port| {
        let is_probe_of_port = |handler: &&HandlerPrediction<'_>| {
            handler.port == Some(port) && !handler.handler.slot.is_lifecycle()
        };
        let handler = pod.handlers.iter().find(is_probe_of_port)?;
        let service = cx.context.services(workload).exposing(port)?;
        let mtls = cx.context.pod_facts(workload).mtls(port);
        let is_uncaptured = !cx.context.pod_facts(workload).capture(port).value;
        if !is_uncaptured || mtls.value != MtlsMode::Strict {
            return None;
        }
        let message = format!(
            "port {port} bypasses the sidecar, apparently for the {}: `STRICT` mutual TLS and \
             AuthorizationPolicies are not enforced there for the clients of the Service either",
            handler.title(),
        );
        let mut finding = pod_metadata::finding_on_entry(&PROBE_PORT_EXCLUDED_CLEARTEXT, workload, MetadataMap::Annotation, entry, message);
        finding.relate(service);
        finding.depend_on(&mtls);
        finding.depend_on(&pod.dataplane);
        let all_rewritten = pod
            .handlers
            .iter()
            .filter(is_probe_of_port)
            .all(|handler| handler.rewritten);
        finding.help = Some(if all_rewritten {
            format!(
                "remove {port}: the agent sends the probe to the application, so the probe does not \
                 need the exception"
            )
        } else {
            format!("enable the probe rewrite for the pod, then remove {port}")
        });
        finding.fix = all_rewritten.then(|| fix(pod, entry, port)).flatten();
        Some(finding)
    })
    .collect()
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>, port: i64) -> Option<Fix> {
    let template = &pod.workload.template;
    let remaining = pod_metadata::without_port(entry.value.text()?, port);
    let wanted = Applicability::unsafe_because(format!(
        "the sidecar then refuses clients that send plain text to port {port}"
    ));
    let key = keys::EXCLUDE_INBOUND_PORTS;
    let title = format!("remove port {port}, so that the sidecar captures it");
    if remaining.is_empty() {
        let place = MetadataMap::Annotation;
        return Some(pod_metadata::removal_fix(pod, place, key, title, wanted));
    }
    let change = Change::set(template.annotation_route(key), remaining);
    let object = &pod.workload.object;
    Some(Fix::of_object(object, title, wanted, vec![change]))
}

fn check_sidecar_ingress_tls_ignored(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sidecar in &cx.context.inventory.sidecar_resources {
        let listeners = sidecar
            .node
            .get("spec")
            .and_then(|spec| spec.get("ingress"))
            .into_iter()
            .flat_map(NodeRef::items);
        for (index, listener) in listeners.enumerate() {
            findings.extend(sidecar_ingress_tls_ignored(cx, sidecar, index, listener));
        }
    }
    findings
}

fn sidecar_ingress_tls_ignored<'t>(
    cx: &RuleContext<'_, 't>,
    sidecar: &Object<'t>,
    index: usize,
    listener: NodeRef<'t>,
) -> Option<Finding> {
    let context = cx.context;
    let tls = listener.entry("tls").filter(|tls| !tls.value.is_null())?;
    let port = listener.get("port")?.get("number").and_then(integer)?;
    let mode = cx
        .workloads_in_scope(sidecar)
        .into_iter()
        .filter(|pod| {
            pod.dataplane.value == Dataplane::Sidecar && selects_workload(sidecar, &pod.workload)
        })
        .map(|pod| context.pod_facts(&pod.workload).mtls(port))
        .find(|mode| mode.value != MtlsMode::Disable)?;
    let message = format!(
        "`tls` of port {port} is ignored: it applies only if the mutual TLS mode of the port is \
         `DISABLE`, but the mode is `{}`",
        mode.value.as_str(),
    );
    let mut finding =
        SIDECAR_INGRESS_TLS_IGNORED.finding_on_object(sidecar, tls.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].tls"));
    finding.depend_on(&mode);
    let help = format!(
        "set port {port} to `DISABLE` in `portLevelMtls` and enable \
         `ENABLE_TLS_ON_SIDECAR_INGRESS` on istiod, or remove `tls`"
    );
    finding.help = Some(help);
    Some(finding)
}

/// Returns the mode of mutual TLS of a pod with a sidecar if it is `STRICT` on the ports that no policy names.
fn strict_mode<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Fact<MtlsMode>> {
    let mtls = cx.context.pod_facts(&pod.workload).mtls_of_other_ports();
    (mtls.value == MtlsMode::Strict).then_some(mtls)
}

/// Creates a finding that points at the annotation of the pod that decides, or else names the fact of the mesh.
fn finding_on_unenforced_mtls(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    annotation: Option<Entry<'_>>,
    (capture, mtls): (&Fact<String>, &Fact<MtlsMode>),
    message: String,
) -> Finding {
    let workload = &pod.workload;
    let mut finding = match annotation {
        Some(entry) => {
            pod_metadata::finding_on_entry(rule, workload, MetadataMap::Annotation, entry, message)
        }
        None => {
            let span = workload.object.name_span();
            let mut finding = rule.finding_on_workload(workload, span, message);
            finding.depend_on(capture);
            finding
        }
    };
    finding.depend_on(mtls);
    finding.depend_on(&pod.dataplane);
    finding
}
