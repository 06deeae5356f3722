//! Rule `vm-https-verified`, documented in `docs/rules/vm-https-verified.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::predict;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-https-verified", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::groups(cx)
        .filter_map(|group| report(cx, group))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let probe = workload_group::probe(group)?;
    let (_, entry) = vm::kept(probe.value)?;
    let scheme = entry.value.get("scheme")?;
    predict::verified(cx.context, group)?;
    let message = format!(
        "the probe of {} fails unless the machine trusts the certificate: agents since {} verify it \
         (`x509: certificate signed by unknown authority`)",
        workload_group::title(group),
        vm::HTTPS_VERIFIED_SINCE,
    );
    let mut finding = workload_group::finding_on_probe(&RULE, group, scheme.span(), message);
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
