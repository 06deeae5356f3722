//! Whether Linkerd's proxy is a native sidecar, and which handlers run before its traffic capture.
//!
//! Sources: `charts/linkerd-control-plane/values.yaml` (`proxy.nativeSidecar` is true since 2.20, pull request 15267),
//! `charts/patch/templates/patch.json` (a native proxy and its init container are the first init containers; otherwise
//! `linkerd-init` is the last one) and `pkg/inject/inject.go` (the annotations and their precedence).

use crate::finding::Certainty;
use crate::kube::{ContainerList, Slot};
use crate::mesh::Fact;
use crate::mesh::go_bool::parse_bool;
use crate::mesh::model::{HandlerRef, PodInput};
use crate::mesh::version::Version;

use super::keys::{INIT, NATIVE_SIDECAR, PROXY};

const SETTLE: &str = "--assume native-sidecars=true|false";

/// The first release whose proxy is a native sidecar by default (edge-26.5.2).
const BY_DEFAULT: Version = Version::new(2, 20);
/// The first release that has native sidecars (edge-23.11.4).
const SUPPORTED: Version = Version::new(2, 15);
/// The first releases that read each of [`NATIVE_SIDECAR`].
const READ_SINCE: [Version; 3] = [BY_DEFAULT, Version::new(2, 19), SUPPORTED];

/// Returns the fact that a handler runs before `linkerd-init` captures the traffic of the pod: a startup probe or a
/// `postStart` hook of a native sidecar, if the proxy is not a native sidecar.
pub(super) fn before_capture(
    input: &PodInput<'_, '_>,
    (container, handler): &HandlerRef<'_>,
) -> Option<Fact<()>> {
    let is_early = matches!(handler.slot, Slot::Startup | Slot::PostStart);
    if container.list != ContainerList::Init || !is_early || has_own_proxy(input) {
        return None;
    }
    let native = native_proxy(input);
    if native.value {
        return None;
    }
    let message = format!(
        "`{INIT}` captures traffic (default of `cniEnabled`), after the sidecars of the pod start"
    );
    Some(
        native
            .map(|_| ())
            .depending_on(&Fact::default((), message, "`cniEnabled` of the chart")),
    )
}

/// Returns whether the manifest contains the proxy, so that the webhook does not decide the order of containers.
fn has_own_proxy(input: &PodInput<'_, '_>) -> bool {
    let template = &input.workload.template;
    template
        .containers()
        .iter()
        .any(|container| matches!(container.name(), PROXY | INIT))
}

/// Returns whether the proxy is a native sidecar.
fn native_proxy(input: &PodInput<'_, '_>) -> Fact<bool> {
    if input.release.is_some_and(|release| release < SUPPORTED) {
        return Fact::settled(
            false,
            "Linkerd does not support native sidecars before 2.15",
        );
    }
    let by_user = input.native_sidecars.as_ref();
    let overridden = by_user.filter(|fact| fact.certainty == Certainty::Known);
    let given = overridden.cloned().or_else(|| written(input));
    if let Some(fact) = given.or_else(|| by_user.cloned()) {
        return fact;
    }
    let is_default = input.release.is_none_or(|release| release >= BY_DEFAULT);
    let message = match is_default {
        true => "Linkerd's proxy is a native sidecar by default since 2.20",
        false => "Linkerd's proxy is not a native sidecar by default before 2.20",
    };
    Fact::default(is_default, message, SETTLE)
}

/// Returns what the annotations of the pod or its Namespace state. The injector ignores values that are not booleans.
fn written(input: &PodInput<'_, '_>) -> Option<Fact<bool>> {
    let template = &input.workload.template;
    let is_read = |since: Version| input.release.is_none_or(|release| release >= since);
    let keys = NATIVE_SIDECAR
        .into_iter()
        .zip(READ_SINCE)
        .filter(|(_, since)| is_read(*since));
    let mut entries = keys.filter_map(|(key, _)| {
        let own = template.annotation(key);
        let own = own.map(|entry| (&input.workload.object, entry));
        own.or_else(|| Some((input.namespace?, input.namespace?.annotation(key)?)))
    });
    let (object, entry) = entries.next()?;
    let value = parse_bool(entry.value.text()?)?;
    let not = if value { "" } else { "not " };
    let message = format!("the proxy is {not}a native sidecar");
    let place = object.label_at(entry.value.span(), message);
    Some(Fact::known(value, place))
}
