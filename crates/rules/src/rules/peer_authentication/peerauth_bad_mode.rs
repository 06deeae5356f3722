//! Rule `peerauth-bad-mode`, documented in `docs/rules/peerauth-bad-mode.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::similar_names;

declare_rule! {
    "peerauth-bad-mode", Error, fix: Sometimes, scope: Tree
}

/// The modes of the API.
const MODES: [&str; 4] = ["UNSET", "DISABLE", "PERMISSIVE", "STRICT"];

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .flat_map(report)
        .collect()
}

fn report<'t>(policy: &Object<'t>) -> Vec<Finding> {
    let view = PeerAuthentication::of(policy);
    let own = view
        .mode()
        .map(|mode| (FieldPath::keys(&["spec", "mtls", "mode"]), mode));
    let of_ports = view.ports().filter_map(|port| {
        let route = FieldPath::keys(&["spec", "portLevelMtls"]);
        let route = route.child(port.entry.key.text()?.to_owned());
        Some((route.child("mode"), port.mode?))
    });
    own.into_iter()
        .chain(of_ports)
        .filter_map(|(route, mode)| report_mode(policy, &route, mode))
        .collect()
}

fn report_mode<'t>(policy: &Object<'t>, route: &FieldPath, mode: Entry<'t>) -> Option<Finding> {
    let word = mode.value.text()?;
    if MODES.contains(&word) || placeholder::contains(word) {
        return None;
    }
    let message = format!(
        "`{word}` is not a mutual TLS mode: the API server refuses PeerAuthentication `{}`, and the \
         previous mode stays in effect",
        policy.name()
    );
    let mut finding = RULE.finding_on_object(policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    let closest = MODES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(word) || similar_names::is_close(word, known));
    finding.help = Some(match closest {
        Some(known) => format!("set the mode to `{known}`"),
        None => "set the mode to `UNSET`, `DISABLE`, `PERMISSIVE` or `STRICT`".to_owned(),
    });
    finding.fix = closest.filter(|_| !mode.merged).map(|known| {
        let change = Change::Set {
            route: policy.route.join(route),
            value: Value::from(known),
        };
        let title = format!("set the mode to `{known}`");
        let reason = if known == "STRICT" {
            "`STRICT` then takes effect, and probes that are not rewritten may fail".to_owned()
        } else {
            format!("mode `{known}` then takes effect for all clients of the selected pods")
        };
        Fix::of_object(
            policy,
            title,
            Applicability::unsafe_because(reason),
            vec![change],
        )
    });
    Some(finding)
}
