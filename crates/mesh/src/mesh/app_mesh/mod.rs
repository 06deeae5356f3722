//! AWS App Mesh: it does not change probes, which reach the listeners of a `VirtualNode`.
//!
//! Sources: the controller of App Mesh, `pkg/inject` (`sidecar_utils.go`: which pods are injected;
//! `proxy.go`: which ports are redirected) and `docs/guide/troubleshooting.md`; the API reference of AWS App
//! Mesh, `ListenerTls` (STRICT only accepts TLS, `validation` concerns the client's certificate).
//! Nothing was run.

mod definition;
pub mod faults;
mod keys;
mod listener;
mod model;

pub(super) use definition::DEFINITION;
pub use keys::INJECT;
