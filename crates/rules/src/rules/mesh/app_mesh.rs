//! AWS App Mesh.

use meshprobe_mesh::finding::{Finding, Sentence};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::app_mesh::{INJECT, faults};
use meshprobe_predict::predict::Cause;
use meshprobe_yaml::Span;

use crate::rules::RuleContext;
use crate::rules::support::finding_builder::first_reported;
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    ENDED = "appmesh-ended", Note, fix: None, scope: Tree, ended;
    STRICT_PROBE = "appmesh-strict-probe", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &STRICT_PROBE, Mesh::APP_MESH, &[
            (Cause::Other(&faults::PLAIN_AT_STRICT), "",
            |_, _| "fails: App Mesh captures the port, and its listener accepts only TLS of the mesh".into(),
            "serve the check on another port, and list only the ports of the application in `appmesh.k8s.aws/ports`"),
        ]);
    TCP_PROBE_ALWAYS_TRUE = "appmesh-tcp-probe-always-true", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &TCP_PROBE_ALWAYS_TRUE, Mesh::APP_MESH, &[
            (Cause::SidecarAccepts, "",
            |_, _| Sentence::verb(("always succeeds", "always succeed"), ": the App Mesh proxy accepts every connection"),
            "use `httpGet` or `exec`, or list only the other ports in `appmesh.k8s.aws/ports`"),
        ]);
}

fn ended(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let labelled = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.label(INJECT)?;
        let is_on = entry.value.text() == Some("enabled");
        is_on.then(|| (namespace, entry.key.span()))
    });
    let objects = cx.context.inventory.objects_of_mesh(Mesh::APP_MESH);
    let objects = objects.map(|object| (object, object.name_span()));
    let findings = labelled.chain(objects);
    let findings = findings.map(|(object, span)| report(object, span));
    first_reported(cx, findings).into_iter().collect()
}

fn report(object: &Object<'_>, span: Span) -> Finding {
    let message = "AWS discontinued App Mesh on 2026-09-30";
    let mut finding = ENDED.finding_on_object(object, span, message.to_owned());
    finding.help = Some("plan a migration to a maintained mesh".to_owned());
    finding
}
