//! Reads how a GitOps tree installs Istio.
//!
//! One file per carrier, each a function from an object or a file to [`Install`]s: plain data in which
//! every item has the line it comes from. Facts that the tree does not contain are `None`; `context` adds defaults and
//! chooses between control planes.

mod argo;
mod bindings;
mod carrier;
mod carrier_context;
mod chart;
mod config_map;
mod flux;
mod found;
mod from_object;
mod helm_charts;
mod installation;
mod istiod;
mod k3s;
mod layer;
mod maistra;
mod network_chart;
mod operator;
mod rejected_config;
mod release;
mod rendered;
mod sail;
mod source_place;
mod tag_service;
mod values;
mod values_file;
mod version;
mod webhook;
mod webhook_config;

pub use carrier::{Carrier, Part};
pub use carrier_context::{CarrierContext, PlainFile};
pub use chart::is_gateway_chart;
pub use from_object::{concerns, from_object};
pub use helm_charts::{FIELDS as CHART_FIELDS, from_kustomization, is_mesh_chart};
pub use installation::{EnablementSelector, Install, NativeSidecars};
pub use maistra::{MEMBER_OF, states_members};
pub use release::has_only_istio_charts;
pub use source_place::{ConfigValue, SourcePlace, SourcePlaces};
pub use values_file::from_values_file;
pub use version::{version_of_image, version_of_revision};
pub use webhook::Webhook;
