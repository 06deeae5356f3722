//! Rules about the health checks of WorkloadGroups on virtual machines.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, ProbeRef, sentence_list};
use meshprobe_mesh::kube::{Object, Port};
use meshprobe_mesh::mesh::istio::vm::{self, FaultKind};
use meshprobe_predict::predict::{self, port_text};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, Scalar, Span, Step};

use crate::rules::probe_fields::quote_value;
use crate::rules::support::similar_names::is_close;
use crate::rules::{Rule, RuleContext};

crate::rules::rule::rules! {
    EXEC_EMPTY = "vm-exec-empty", Error, fix: None, scope: Tree, |cx| faults(cx, &EXEC_EMPTY);
    FAILURE_THRESHOLD = "vm-failure-threshold-1", Note, fix: Always, scope: Tree,
        |cx| groups(cx).filter_map(failure_threshold).collect();
    FIELD_TYPE = "vm-field-type", Error, fix: Sometimes, scope: Tree, |cx| faults(cx, &FIELD_TYPE);
    GRPC_PROBE = "vm-grpc-probe", Error, fix: None, scope: Tree, |cx| faults(cx, &GRPC_PROBE);
    HEADER_NAME = "vm-header-name", Error, fix: None, scope: Tree, |cx| faults(cx, &HEADER_NAME);
    HOST_NOT_LOCAL = "vm-host-not-local", Warning, fix: None, scope: Tree,
        |cx| groups(cx).filter_map(|group| host_not_local(cx, group)).collect();
    HTTPS_VERIFIED = "vm-https-verified", Error, fix: None, scope: Tree,
        |cx| groups(cx).filter_map(|group| https_verified(cx, group)).collect();
    MULTI_DOC = "vm-multi-doc", Note, fix: None, scope: Tree, check_multi_doc;
    NEGATIVE = "vm-negative", Error, fix: None, scope: Tree, |cx| faults(cx, &NEGATIVE);
    PORT = "vm-port", Error, fix: None, scope: Tree, |cx| faults(cx, &PORT);
    PORT_NAME = "vm-port-name", Error, fix: Sometimes, scope: Tree, |cx| faults(cx, &PORT_NAME);
    PROBE_IN_ANNOTATION = "vm-probe-in-annotation", Error, fix: None, scope: Tree, check_probe_in_annotation;
    PROBE_PORT_CONFLICT = "vm-probe-port-conflict", Warning, fix: None, scope: Tree,
        |cx| groups(cx).filter_map(|group| probe_port_conflict(cx, group)).collect();
    TWO_HANDLERS = "vm-probe-two-handlers", Error, fix: Sometimes, scope: Tree, |cx| faults(cx, &TWO_HANDLERS);
    PROBE_WITHOUT_HANDLER = "vm-probe-without-handler", Error, fix: None, scope: Tree,
        |cx| faults(cx, &PROBE_WITHOUT_HANDLER);
    SCHEME = "vm-scheme", Error, fix: Sometimes, scope: Tree, |cx| faults(cx, &SCHEME);
    TEMPLATE_MISSING = "vm-template-missing", Error, fix: None, scope: Tree, |cx| faults(cx, &TEMPLATE_MISSING);
    UNKNOWN_FIELD = "vm-unknown-field", Warning, fix: None, scope: Tree, |cx| faults(cx, &UNKNOWN_FIELD);
    ENTRY_NOT_HEALTH_CHECKED = "vm-workloadentry-not-health-checked", Warning, fix: Always, scope: Tree,
        check_entry_not_health_checked;
}

/// Returns the findings of one rule about the faults of all groups.
fn faults(cx: &RuleContext<'_, '_>, rule: &Rule) -> Vec<Finding> {
    groups(cx)
        .flat_map(|group| {
            let faults = vm::find_faults(group).into_iter();
            faults.map(move |fault| report(group, &fault))
        })
        .filter(|finding| finding.rule == rule.id)
        .collect()
}

/// Turns a fault into a finding of its rule.
fn report(group: &Object<'_>, fault: &vm::Fault) -> Finding {
    let (rule, message, help) = describe(group, fault);
    let field = fault.within.to_string();
    let mut finding = match field.starts_with("spec.probe") {
        true => finding_on_probe(rule, group, fault.span, message),
        false => rule.finding_on_object(group, fault.span, message),
    };
    finding.field = Some(field);
    finding.help = Some(help);
    finding.fix = fix(group, fault);
    if let (FaultKind::HeaderValue(_), Some(node)) = (&fault.kind, group.node.at(&fault.within)) {
        let value = (group.route.join(&fault.within), node);
        quote_value(&mut finding, group, value, "quote the value");
    }
    finding
}

/// Returns the rule of a fault, the message and the help.
fn describe(group: &Object<'_>, fault: &vm::Fault) -> (&'static Rule, String, String) {
    let (title, field) = (title(group), field(fault));
    let written = source(group, fault.span);
    let (rule, message, help) = match &fault.kind {
        FaultKind::NoTemplate => (
            &TEMPLATE_MISSING,
            format!("{title} has no `spec.template`: istiod refuses it (`template is required`)"),
            "add `spec.template` with the service account and the ports of the machines",
        ),
        FaultKind::NoMethod => (
            &PROBE_WITHOUT_HANDLER,
            format!(
                "the probe of {title} has no handler: istiod refuses it (`unknown health check method <nil>`), and \
                 an agent that receives it from istioctl panics"
            ),
            "add `httpGet`, `tcpSocket` or `exec`",
        ),
        FaultKind::SeveralMethods { kept, dropped } => (
            &TWO_HANDLERS,
            format!(
                "the probe of {title} has several handlers: the schema of recent releases refuses it, and istioctl \
                 keeps `{}` and drops {}",
                kept.key(),
                method_names(dropped),
            ),
            "keep only one handler",
        ),
        FaultKind::Grpc => (
            &GRPC_PROBE,
            format!(
                "the probe of {title} uses gRPC: istiod refuses it (`unknown health check method`), and an agent \
                 that receives it from istioctl crashes at the first `NOT_SERVING` response"
            ),
            "run grpc_health_probe with `exec`, or use `httpGet` or `tcpSocket`",
        ),
        FaultKind::Negative => (
            &NEGATIVE,
            format!("`{field}` of {title} is negative: istiod refuses it"),
            "set it to 0 or more; 0 selects the default",
        ),
        FaultKind::PortOutOfRange(port) => {
            let target = match port {
                Some(port) => format!("targets port {port}, which is out of range"),
                None => "has no port".to_owned(),
            };
            let message = format!(
                "the probe of {title} {target}: istiod refuses it (`must be in the range 1..65535`)"
            );
            let help = "set the number of the port that the application listens on";
            (&PORT, message, help)
        }
        FaultKind::PortName { name, number } => {
            let message = format!(
                "the probe of {title} targets port `{}`, which is not a number: the API server refuses it",
                port_text(&Port::Name(name.clone())),
            );
            let help = match number {
                Some(port) => format!("set the port to {port}"),
                None => "set the number of the port".to_owned(),
            };
            return (&PORT_NAME, message, help);
        }
        FaultKind::Scheme => (
            &SCHEME,
            format!(
                "the probe of {title} has the scheme `{written}`: istiod refuses it (`must be one of \"HTTPS\", \
                 \"HTTP\"`)"
            ),
            "use `HTTP` or `HTTPS`, in upper case",
        ),
        FaultKind::HeaderName => {
            let name = match group.node.at(&fault.within) {
                Some(_) => format!("the invalid name `{written}`"),
                None => "no name".to_owned(),
            };
            let message = format!("a header of the probe of {title} has {name}: istiod refuses it");
            let help =
                "use a name of letters, digits and `-`; to set the host, use the header `Host`";
            (&HEADER_NAME, message, help)
        }
        FaultKind::HeaderValue(kind) => (
            &FIELD_TYPE,
            format!(
                "the API server refuses the probe of {title}: a header has the value `{written}`, which is {kind}, \
                 not a string"
            ),
            "quote the value",
        ),
        FaultKind::NoCommand => (
            &EXEC_EMPTY,
            format!(
                "the probe of {title} has no command: istiod refuses it (`exec.command is required`), and an agent \
                 that receives it from istioctl panics"
            ),
            "set `command`, or use `httpGet` or `tcpSocket`",
        ),
        FaultKind::UnknownField(known) => {
            let message = format!(
                "`{field}` of {title} is not a field of the API: the API server silently drops it"
            );
            let help = match known.iter().find(|known| is_similar(&field, known)) {
                Some(known) => format!("use `{known}`"),
                None => format!("remove it, or use one of {}", known.join(", ")),
            };
            return (&UNKNOWN_FIELD, message, help);
        }
        FaultKind::WrongType(reason) => (
            &FIELD_TYPE,
            format!("the API server refuses `{field}` of {title}: {reason}"),
            "use the type that the API expects; the API server refuses the whole object",
        ),
    };
    (rule, message, help.to_owned())
}

/// Returns the fix of a fault, if the intended value is known.
fn fix(group: &Object<'_>, fault: &vm::Fault) -> Option<Fix> {
    let route = group.route.join(&fault.within);
    let (title, applicability, changes) = match &fault.kind {
        FaultKind::PortName { name, number } => {
            let port = number.filter(|port| (1..=65535).contains(port))?;
            let applicability = match *name == port.to_string() {
                true => Applicability::Safe,
                false => Applicability::unsafe_because(format!(
                    "another port may be intended than the one that `spec.template.ports` contains as `{}`",
                    port_text(&Port::Name(name.clone()))
                )),
            };
            let title = format!("set the port to {port}");
            (title, applicability, vec![Change::set(route, port)])
        }
        FaultKind::SeveralMethods { kept, dropped } if *kept != vm::Method::Grpc => {
            let names = method_names(dropped);
            let applicability =
                Applicability::unsafe_because(format!("{names} may be the intended check"));
            let changes = dropped
                .iter()
                .map(|method| Change::remove(route.child(method.key())));
            let title = format!("remove {names}, which istioctl drops");
            (title, applicability, changes.collect())
        }
        FaultKind::Scheme => {
            let written = source(group, fault.span).trim_matches(['"', '\'']);
            written.eq_ignore_ascii_case("http").then_some(())?;
            let title = "set the scheme to `HTTP`".to_owned();
            let changes = vec![Change::set(route, "HTTP")];
            (title, Applicability::Safe, changes)
        }
        _ => return None,
    };
    Some(Fix::of_object(group, title, applicability, changes))
}

/// Lists methods for messages: "`httpGet` and `exec`".
fn method_names(methods: &[vm::Method]) -> String {
    let names: Vec<String> = methods
        .iter()
        .map(|method| format!("`{}`", method.key()))
        .collect();
    sentence_list(&names)
}

fn failure_threshold(group: &Object<'_>) -> Option<Finding> {
    let probe = probe(group)?;
    vm::kept(probe.value)?;
    let written = probe.value.get("failureThreshold");
    let zero = Some(Scalar::Int(0));
    if written.is_some_and(|number| !number.is_null() && number.scalar() != zero) {
        return None;
    }
    let message = format!(
        "one failed check takes machines of {} out of service: `failureThreshold` defaults to {} in \
         the agent, and to 3 in the kubelet",
        title(group),
        vm::DEFAULT_FAILURE_THRESHOLD,
    );
    let mut finding = FAILURE_THRESHOLD.finding_on_object(group, probe.key.span(), message);
    finding.field = Some("spec.probe.failureThreshold".to_owned());
    finding.help =
        Some("set `failureThreshold` to the number of failures that you can tolerate".to_owned());
    let change = Change::set(
        group
            .route
            .join(&FieldPath::keys(&["spec", "probe", "failureThreshold"])),
        3,
    );
    let title = "set `failureThreshold` to 3, the default of the kubelet";
    let changes = vec![change];
    finding.fix = Some(Fix::of_object(
        group,
        title,
        Applicability::unsafe_because("a machine that fails stays in service two checks longer"),
        changes,
    ));
    Some(finding)
}

fn host_not_local<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let host = predict::other_host(cx.context, group)?;
    let probe = probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let name = host.text()?;
    let message = format!(
        "the probe of {} checks `{name}` on every machine of the group: the health of the machines \
         themselves has no effect",
        title(group),
    );
    let mut finding = finding_on_probe(&HOST_NOT_LOCAL, group, host.span(), message);
    finding.field = Some(format!("spec.probe.{}.host", method.key()));
    finding.help = Some("remove `host`: the agent then checks its own machine".to_owned());
    Some(finding)
}

fn https_verified<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let probe = probe(group)?;
    let (_, entry) = vm::kept(probe.value)?;
    let scheme = entry.value.get("scheme")?;
    predict::verified(cx.context, group)?;
    let message = format!(
        "the probe of {} fails unless the machine trusts the certificate: agents since {} verify it \
         (`x509: certificate signed by unknown authority`)",
        title(group),
        vm::HTTPS_VERIFIED_SINCE,
    );
    let mut finding = finding_on_probe(&HTTPS_VERIFIED, group, scheme.span(), message);
    finding.field = Some("spec.probe.httpGet.scheme".to_owned());
    finding.help = Some(
        "use a port without TLS, run `curl -fks` with `exec`, or make the machine trust the issuer"
            .to_owned(),
    );
    if cx.context.istio_near(group).version().is_none() {
        finding.depend_on(&predict::unknown_release());
    }
    Some(finding)
}

fn check_multi_doc(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups: Vec<_> = groups(cx)
        .filter(|group| group.rendered_by.is_none())
        .collect();
    groups
        .iter()
        .filter_map(|group| {
            let first = groups.iter().find(|other| {
                other.path() == group.path() && other.document.index < group.document.index
            });
            first.map(|first| multi_doc(group, first))
        })
        .collect()
}

fn multi_doc(group: &Object<'_>, first: &Object<'_>) -> Finding {
    let message = format!(
        "`istioctl x workload entry configure -f` ignores {}: it reads only the first document of \
         a file",
        title(group),
    );
    let mut finding = MULTI_DOC.finding_on_object(group, group.name_span(), message);
    let configured = "istioctl configures this group instead";
    finding.relate(first.label_at(first.name_span(), configured));
    finding.help = Some(
        "move it to a separate file, or write both with `meshprobe rewrite --vm -o DIR`".to_owned(),
    );
    finding
}

fn check_probe_in_annotation(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups = groups(cx);
    groups
        .flat_map(|group| {
            let annotated = vm::annotated_probes(group).into_iter();
            annotated.map(move |entry| probe_in_annotation(group, entry))
        })
        .collect()
}

fn probe_in_annotation(group: &Object<'_>, annotation: Entry<'_>) -> Finding {
    let instead = match probe(group) {
        Some(_) => "istioctl replaces it with `spec.probe`",
        None => {
            "istioctl replaces it with `spec.probe`, which is missing, so no machine is checked"
        }
    };
    let message = format!(
        "the `readinessProbe` in an annotation of {} has no effect: {instead}",
        title(group),
    );
    let mut finding = PROBE_IN_ANNOTATION.finding_on_object(group, annotation.key.span(), message);
    if let Some(probe) = probe(group) {
        let effective = "this probe is used instead";
        finding.relate(group.label_at(probe.key.span(), effective));
    }
    finding.help = Some("move it to `spec.probe`".to_owned());
    finding
}

fn probe_port_conflict<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let own = predict::sidecar_port(cx.context, group)?;
    let probe = probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let message = format!(
        "the probe of {} checks port {} of the sidecar ({}), not the application",
        title(group),
        own.port.value,
        own.owner,
    );
    let mut finding = finding_on_probe(&PROBE_PORT_CONFLICT, group, own.place.span(), message);
    finding.field = Some(format!("spec.probe.{}.port", method.key()));
    finding.help = Some("set the port of the application".to_owned());
    finding.depend_on(&own.port);
    Some(finding)
}

/// Checks whether a name resembles a known field, or is the name that pods use for it.
fn is_similar(name: &str, known: &str) -> bool {
    let of_pods = known == "probe" && name.to_lowercase().ends_with("probe");
    let shortened = name.len() > 5 && known.starts_with(name);
    let snake = name.contains('_') && name.replace('_', "").eq_ignore_ascii_case(known);
    of_pods || shortened || snake || is_close(name, known)
}

fn check_entry_not_health_checked(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups = groups(cx);
    groups
        .filter(|group| probe(group).is_some())
        .flat_map(|group| {
            let entries = cx.context.virtual_machines(group).entries();
            entries.filter_map(move |entry| entry_not_health_checked(group, entry))
        })
        .collect()
}

fn entry_not_health_checked(group: &Object<'_>, entry: &Object<'_>) -> Option<Finding> {
    let annotation = entry.annotation(vm::HEALTH_CHECKS_ENABLED);
    let value = annotation.map(|annotation| annotation.value.text().unwrap_or_default());
    if value.is_some_and(|value| value == "true" || placeholder::contains(value)) {
        return None;
    }
    let message = format!(
        "istiod ignores the health checks of machine `{}`: it lacks the annotation `{}: \"true\"`",
        entry.name(),
        vm::HEALTH_CHECKS_ENABLED,
    );
    let span = annotation.map_or_else(|| entry.name_span(), |annotation| annotation.value.span());
    let mut finding = ENTRY_NOT_HEALTH_CHECKED.finding_on_object(entry, span, message);
    let probe = probe(group)?;
    let ignored = "istiod ignores the results of this check";
    finding.relate(group.label_at(probe.key.span(), ignored));
    finding.help = Some(format!(
        "add the annotation `{}: \"true\"`, or let the machine register itself",
        vm::HEALTH_CHECKS_ENABLED
    ));
    let annotations = FieldPath::keys(&["metadata", "annotations", vm::HEALTH_CHECKS_ENABLED]);
    let change = Change::set(entry.route.join(&annotations), "true");
    let title = format!("add `{}: \"true\"`", vm::HEALTH_CHECKS_ENABLED);
    let changes = vec![change];
    finding.fix = Some(Fix::of_object(
        entry,
        title,
        Applicability::unsafe_because(
            "the machine then receives no traffic until its first check has succeeded",
        ),
        changes,
    ));
    Some(finding)
}

/// Iterates over the `WorkloadGroup`s of the tree; over none if the options exclude a mesh.
fn groups<'s, 't>(cx: &RuleContext<'s, 't>) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 't> {
    let groups = cx.context.inventory.workload_groups.iter();
    let may_have_mesh = cx.may_have_mesh();
    groups.filter(move |_| may_have_mesh)
}

/// Returns the entry of `spec.probe`, unless it is null.
fn probe<'t>(group: &Object<'t>) -> Option<Entry<'t>> {
    let entry = group.node.get("spec")?.entry("probe")?;
    entry.value.is_mapping().then_some(entry)
}

/// Creates a finding about the probe of a group.
fn finding_on_probe(rule: &Rule, group: &Object<'_>, span: Span, message: String) -> Finding {
    let mut finding = rule.finding_on_object(group, span, message);
    finding.probe = probe(group).map(|probe| {
        let label = group.label_at(probe.key.span(), String::new());
        ProbeRef {
            title: "probe".to_owned(),
            slot: "probe",
            path: label.path,
            span: label.span,
        }
    });
    finding
}

/// Returns the name of a group for messages: "WorkloadGroup `web`".
fn title(group: &Object<'_>) -> String {
    format!("WorkloadGroup `{}`", group.name())
}

/// Returns the source text of a span, quotes included.
fn source<'t>(group: &Object<'t>, span: Span) -> &'t str {
    group.node.tree().source_at(span)
}

/// Returns the name of the field that has the fault.
fn field(fault: &vm::Fault) -> String {
    match fault.within.steps().last() {
        Some(Step::Key(key)) => key.to_string(),
        _ => fault.within.to_string(),
    }
}
