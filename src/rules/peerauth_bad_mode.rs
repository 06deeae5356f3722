//! Rule `peerauth-bad-mode`.

use super::rule::declare_rule;
use super::{Scene, scene, suggest};
use crate::finding::{Applicability, Finding};
use crate::kube::{Object, PeerAuthentication};
use crate::source::placeholder;
use crate::yaml::{Change, Entry, Route, Value};

declare_rule! {
    /// Finds modes of mutual TLS that do not exist.
    ///
    /// ## What it checks
    /// A `mode` in `mtls` or `portLevelMtls` of a `PeerAuthentication` that is none of UNSET,
    /// DISABLE, PERMISSIVE and STRICT.
    ///
    /// ## Why it matters
    /// The words are written in capitals. The API server refuses the whole object, and the mode
    /// that held before, often PERMISSIVE, goes on holding.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: strict
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ```
    ///
    /// ## Fix safety
    /// Writing the word that was meant is unsafe: the policy then takes effect, and probes that are
    /// not rewritten may fail under it.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-bad-mode", Error, fix: Sometimes, scope: Tree
}

/// The words of the API.
const MODES: [&str; 4] = ["UNSET", "DISABLE", "PERMISSIVE", "STRICT"];

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    policies.flat_map(report).collect()
}

fn report<'t>(policy: &Object<'t>) -> Vec<Finding> {
    let view = PeerAuthentication::of(policy);
    let own = view
        .mode()
        .map(|mode| (Route::keys(&["spec", "mtls", "mode"]), mode));
    let of_ports = view.ports().filter_map(|port| {
        let route = Route::keys(&["spec", "portLevelMtls"]);
        let route = route.child(port.entry.key.text()?.to_owned());
        Some((route.child("mode"), port.mode?))
    });
    let modes = own.into_iter().chain(of_ports);
    modes
        .filter_map(|(route, mode)| bad(policy, &route, mode))
        .collect()
}

fn bad<'t>(policy: &Object<'t>, route: &Route, mode: Entry<'t>) -> Option<Finding> {
    let word = mode.value.text()?;
    if mode.value.is_null() || MODES.contains(&word) || placeholder::contains(word) {
        return None;
    }
    let message = format!(
        "`{word}` is no mode of mutual TLS: PeerAuthentication `{}` is refused, and what held \
         before goes on holding",
        policy.name()
    );
    let mut finding = scene::about_object(&RULE, policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    let meant = MODES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(word) || suggest::is_close(word, known));
    finding.help = Some(match meant {
        Some(known) => format!("write {known}"),
        None => "write UNSET, DISABLE, PERMISSIVE or STRICT".to_owned(),
    });
    finding.fix = meant.filter(|_| !mode.merged).map(|known| {
        let change = Change::Set {
            route: policy.route.join(route),
            value: Value::from(known),
        };
        let title = format!("write {known}");
        scene::fix(policy, title, Applicability::Unsafe, vec![change])
    });
    Some(finding)
}
