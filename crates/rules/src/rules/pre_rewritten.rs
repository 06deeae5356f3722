//! Rules about probes that were rewritten ahead of deployment.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{Dataplane, proxy_container};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction, predict_with};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::prober_env::{self, written_twice};

crate::rules::rule::rules! {
    PREREWRITTEN_CUSTOM_PORT_RECURSION = "prerewritten-custom-port-recursion", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_with(Cause::AgentCallsItself, |pod, handler| prerewritten_custom_port_recursion(cx, pod, handler));
    REWRITTEN_AND_REWRITE_OFF = "rewritten-and-rewrite-off", Note, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().filter_map(rewritten_and_rewrite_off).collect();
    REWRITTEN_STATUS_PORT_DIFFERS = "rewritten-status-port-differs", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| rewritten_status_port_differs(cx, pod, handler));
    REWRITTEN_WITHOUT_ENTRY = "rewritten-without-entry", Error, fix: None, scope: Workloads,
        check_rewritten_without_entry;
    REWRITTEN_WITHOUT_SIDECAR = "rewritten-without-sidecar", Error, fix: None, scope: Workloads,
        rewritten_without_sidecar;
}

fn prerewritten_custom_port_recursion<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Finding {
    let sentence = Sentence::each(format!(
        "will fail: the injector does not recognize port {} as the port of the agent, and makes the agent call itself in an endless loop",
        handler.port.unwrap_or_default()
    ));
    let span = handler.handler.field_span("port");
    let mut finding =
        PREREWRITTEN_CUSTOM_PORT_RECURSION.finding_on_handler(pod, handler, span, sentence);
    let off = Fact::settled(false, "the rewrite is off");
    let opted_out = predict_with(cx.context, &pod.workload, off);
    let mut handlers = opted_out.handlers.iter();
    if handlers.any(|handler| handler.verdict.outcome.is_bad()) {
        finding.help = Some(format!(
            "restore the path and port of the application, or set `{}` to \"false\" and add an entry \
             for each probe to `{}`",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
    } else {
        finding.fix = Some(prober_env::opt_out_fix(pod));
    }
    finding
}

fn rewritten_and_rewrite_off(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    pod.prober_env.as_ref()?;
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    let rewritten: Vec<&HandlerPrediction<'_>> = pod
        .handlers
        .iter()
        .filter(|handler| handler.rewritten && handler.agent_path().is_some())
        .collect();
    let works = |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::Rewritten;
    if is_marked || rewritten.is_empty() || !rewritten.iter().all(works) {
        return None;
    }
    let message = format!(
        "the probes of {} work unchanged, but `{}` is replaced as soon as the injector finds another \
         handler to rewrite",
        pod.workload.title(),
        keys::PROBERS_ENV,
    );
    let mut finding = prober_env::finding_on_env(&REWRITTEN_AND_REWRITE_OFF, pod, message);
    finding.depend_on(&pod.rewrite);
    finding.depend_on(&pod.dataplane);
    let keeps_port = rewritten
        .iter()
        .all(|handler| handler.port == Some(pod.agent_port.value));
    if keeps_port {
        finding.fix = Some(prober_env::opt_out_fix(pod));
    } else {
        let port = pod.agent_port.value;
        finding.help = Some(format!(
            "set `port: {port}` in the probes, and set `{}` to \"false\"",
            keys::REWRITE_PROBERS
        ));
    }
    Some(finding)
}

fn rewritten_status_port_differs<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let written = handler.port.unwrap_or_default();
    let agent = pod.agent_port.value;
    let (field, sentence) = match handler.verdict.cause {
        Cause::HttpsAtAgent => (
            "scheme",
            "will fail: it targets the agent with HTTPS, but the agent supports only plain HTTP".into(),
        ),
        Cause::RewrittenOtherPort if handler.rewritten => (
            "port",
            Sentence::all("will fail: the injector does not recognize ").port(
                written,
                " as the port of the agent, and makes the agent check the pod on this port, where nothing listens",
            ),
        ),
        Cause::RewrittenOtherPort => (
            "port",
            format!(
                "will fail: it targets the agent on port {written}, but the agent of this pod listens on {agent}",
            )
            .into(),
        ),
        _ => return None,
    };
    let span = handler.handler.field_span(field);
    let mut finding =
        REWRITTEN_STATUS_PORT_DIFFERS.finding_on_handler(pod, handler, span, sentence);
    finding.fix = fix(cx, pod, handler);
    if field == "scheme" {
        let help = "set `scheme: HTTP`; the agent itself uses HTTPS for the application";
        finding.help = Some(help.to_owned());
    } else if finding.fix.is_none() {
        let help = "set the port of the agent to a number from 1 to 65535, and use it in the probe";
        finding.help = Some(help.to_owned());
    }
    Some(finding)
}

fn fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Fix> {
    let object = &pod.workload.object;
    let route = handler.handler.route.child("httpGet");
    if handler.verdict.cause == Cause::HttpsAtAgent {
        let value = Value::from("HTTP");
        let change = Change::set(route.child("scheme"), value);
        let title = "set `scheme: HTTP`";
        return Some(Fix::of_object(
            object,
            title,
            Applicability::unsafe_because(
                "it changes the scheme with which the kubelet probes the agent",
            ),
            vec![change],
        ));
    }
    // The injector itself moves a probe that targets the status port of the mesh.
    let port = if handler.rewritten {
        cx.context.pod_facts(&pod.workload).mesh_status_port().value
    } else {
        pod.agent_port.value
    };
    if !(1..=65535).contains(&port) {
        return None;
    }
    let change = Change::set(route.child("port"), port);
    let title = format!("set `port: {port}`");
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because("it changes the port that the kubelet probes"),
        vec![change],
    ))
}

fn check_rewritten_without_entry(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            handler.verdict.cause == Cause::RewrittenWithoutEntry && written_twice(pod).is_none()
        })
        .map(|(pod, handler)| rewritten_without_entry(pod, handler))
        .collect()
}

fn rewritten_without_entry(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
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
    let sentence = Sentence::each(format!(
        "will fail: it requests `{requested}` from the agent, but {why}"
    ));
    let span = handler.handler.field_span("path");
    let mut finding = REWRITTEN_WITHOUT_ENTRY.finding_on_handler(pod, handler, span, sentence);
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

fn rewritten_without_sidecar(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::RewrittenWithoutSidecar)
        .map(|(pod, handler)| report_handler(pod, handler))
        .chain(cx.pods().filter_map(report_container))
        .collect()
}

fn report_handler(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = match &handler.handler.action {
        Ok(ProbeHandler::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let sentence = Sentence::each(format!(
        "will fail: it requests `{path}` from the agent on port {}, but {} gets no sidecar",
        handler.port.unwrap_or_default(),
        pod.workload.title()
    ));
    let span = handler.handler.field_span("path");
    let mut finding = REWRITTEN_WITHOUT_SIDECAR.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some(
        "have the pod injected, or restore the path and port of the application: `meshprobe rewrite \
         --undo` does this if the prober env still exists"
            .to_owned(),
    );
    finding
}

/// Reports a sidecar container with the image `auto` that no injector replaces.
fn report_container(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    if !matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient) {
        return None;
    }
    let proxy = proxy_container(&pod.workload)?;
    let image = proxy
        .node
        .get("image")
        .filter(|image| image.text() == Some("auto"))?;
    let message = format!(
        "container `{}` cannot start: only the injector replaces the image `auto`, but {} gets no \
         sidecar",
        proxy.name(),
        pod.workload.title(),
    );
    let mut finding =
        REWRITTEN_WITHOUT_SIDECAR.finding_on_workload(&pod.workload, image.span(), message);
    finding.container = Some(proxy.name().to_owned());
    finding.field = Some(proxy.field("image").to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("have the pod injected, or remove the container".to_owned());
    Some(finding)
}
