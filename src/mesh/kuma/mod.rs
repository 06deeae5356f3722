//! Kuma: the application probe proxy (2.9 and later) and the virtual probes before it.
//!
//! Sources: `pkg/plugins/runtime/k8s/probes`, `pkg/plugins/runtime/k8s/webhooks/injector` and
//! `app/kuma-dp/pkg/dataplane/probes` of the v3 development head (348b6528), run; the releases
//! before it from their tags.

mod injection;
mod proxy;

use crate::finding::Label;

use super::other::{
    Addition, Asked, Each, Meets, Membership, Model, Shape, Treatment, filled_in, port_of,
    release_of,
};
use super::{Fact, Mesh, Version};

pub(crate) use injection::is_switch;
pub(crate) use proxy::probe_port;

use proxy::{Era, ProbeProxy};

/// Label of pods and Namespaces that switches injection; as an annotation it does nothing.
pub(crate) const INJECTION: &str = "kuma.io/sidecar-injection";
/// Annotation with the port of the probe proxy; 0 switches it off.
pub(crate) const PROXY_PORT: &str = "kuma.io/application-probe-proxy-port";
/// Annotation that makes a pod a gateway.
pub(crate) const GATEWAY: &str = "kuma.io/gateway";
/// Annotation with variables for the sidecar.
pub(crate) const SIDECAR_ENV: &str = "kuma.io/sidecar-env-vars";
/// Annotation that switches virtual probes (up to 2.14).
pub(crate) const VIRTUAL_PROBES: &str = "kuma.io/virtual-probes";
/// Annotation with the port of virtual probes.
pub(crate) const VIRTUAL_PORT: &str = "kuma.io/virtual-probes-port";
/// Annotation with ports that the redirect leaves alone.
pub(crate) const EXCLUDED_PORTS: &str = "traffic.kuma.io/exclude-inbound-ports";
/// The sidecar.
pub(crate) const SIDECAR: &str = "kuma-sidecar";

/// Variable of the sidecar that says where its probe proxy listens.
const PORT_ENV: &str = "KUMA_APPLICATION_PROBE_PROXY_PORT";
const DEFAULT_PORT: i64 = 9001;

/// Kuma.
#[derive(Debug)]
pub(crate) struct Kuma;

impl Model for Kuma {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        let latest = "the release is taken for Kuma 3, which is in development";
        release_of(Mesh::Kuma, given, latest)
    }

    fn other_releases(&self) -> &'static [Version] {
        const OTHERS: [Version; 3] = [Version::new(2, 14), Version::new(2, 12), Version::new(2, 8)];
        &OTHERS
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[SIDECAR, "kuma-init", "kuma-validation"]
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        let member = injection::injection(asked);
        if member.value != Membership::Injected {
            return member;
        }
        let decide = [
            PROXY_PORT,
            GATEWAY,
            SIDECAR_ENV,
            VIRTUAL_PROBES,
            VIRTUAL_PORT,
            EXCLUDED_PORTS,
        ];
        let open = filled_in(asked, &decide);
        open.or_else(|| injection::refusal(asked)).unwrap_or(member)
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        let proxy = ProbeProxy::of(asked);
        let each = handlers.iter();
        each.map(|one| match membership {
            Membership::Injected => proxy.treat(one),
            Membership::Refused => proxy.refuse(one),
            Membership::Brought => proxy.injected_already(one),
            _ => Treatment::left(port_of(one), Meets::Nothing),
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape {
            oldest: Version::new(2, 9),
            why_not: "a probe that names the port of its probe proxy already refuses the pod",
            caution: "the annotations switch the webhook's own rewrite off and keep the probe proxy \
                      on; admission leaves that form as it is, but no sidecar was run with it",
        }
    }

    fn additions(
        &self,
        asked: &Asked<'_, '_>,
        _: &[Each<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        let taken = [SIDECAR_ENV, EXCLUDED_PORTS]
            .into_iter()
            .filter(|key| *key == SIDECAR_ENV || Era::of(asked.release) < Era::Three)
            .find_map(|key| {
                asked
                    .workload
                    .template
                    .annotation(key)
                    .map(|entry| (key, entry))
            });
        if let Some((key, entry)) = taken {
            let place = asked
                .workload
                .object
                .label_at(entry.key.span(), "it is taken");
            return Err((
                place,
                format!("`{key}` is there already, and is not mixed with"),
            ));
        }
        let port = ProbeProxy::of(asked).port;
        let add = |key: &'static str, value: String| Addition::Annotation(key, value);
        let mut all = vec![
            add(PROXY_PORT, "0".to_owned()),
            add(SIDECAR_ENV, format!("{PORT_ENV}={port}")),
        ];
        let era = Era::of(asked.release);
        if era < Era::Three {
            all.push(add(EXCLUDED_PORTS, port.to_string()));
        }
        if era == Era::Both {
            all.push(add(VIRTUAL_PROBES, "disabled".to_owned()));
        }
        Ok(all)
    }

    fn port_owner(&self, port: i64) -> Option<&'static str> {
        (port == DEFAULT_PORT).then_some("the probe proxy")
    }
}
