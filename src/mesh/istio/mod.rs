//! Istio: sidecars of the releases 1.10 to 1.31.

pub mod annotations;
pub(crate) mod authz;
pub(crate) mod capture;
pub mod injection;
pub mod install;
pub(crate) mod keys;
pub mod mtls;
pub mod prober_json;
mod proto_json;
pub(crate) mod protocol;
pub mod proxy_config;
pub mod recorded;
pub(crate) mod rewrite;
pub(crate) mod vm;
