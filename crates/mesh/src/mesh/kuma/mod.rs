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
mod known_keys;
mod model;
mod name;
mod native;
mod proxy;
mod refusal;
mod setups;
mod switch;
mod values;

pub(super) use definition::DEFINITION;
pub use injection::reads_annotation;
pub use keys::{
    EXCLUDED_PORTS, GATEWAY, INJECTION, PROXY_PORT, SIDECAR_ENV, VIRTUAL_PORT, VIRTUAL_PROBES,
};
pub use switch::{is_switch, switches_off};
