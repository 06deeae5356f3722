//! Kuma: the application probe proxy (2.9 and later) and the virtual probes before it.
//!
//! Sources: `pkg/plugins/runtime/k8s/probes`, `pkg/plugins/runtime/k8s/webhooks/injector` and
//! `app/kuma-dp/pkg/dataplane/probes` of the v3 development head (348b6528), run; the earlier
//! releases from their tags.

mod definition;
pub mod faults;
mod injection;
mod installed;
mod keys;
mod model;
mod proxy;
mod refusal;
mod values;

pub(super) use definition::DEFINITION;
pub use injection::{is_switch, reads_annotation, switches_off};
pub use keys::{
    EXCLUDED_PORTS, GATEWAY, INJECTION, PROXY_PORT, SIDECAR_ENV, VIRTUAL_PORT, VIRTUAL_PROBES,
};
