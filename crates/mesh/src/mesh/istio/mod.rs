//! Istio: sidecars of the releases 1.10 to 1.31.

pub mod admission;
pub mod annotations;
pub mod authz;
pub mod capture;
mod config_schema;
mod definition;
pub mod injection;
pub mod install;
pub mod keys;
pub mod known_keys;
pub mod mtls;
pub mod network_plugin;
pub mod prober_json;
pub mod prometheus;
mod proto_type;
pub mod protocol;
pub mod proxy_config;
pub mod recorded;
pub mod rewrite;
pub mod vm;

pub(super) use definition::DEFINITION;
