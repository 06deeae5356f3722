//! Reads how a GitOps tree installs Istio.
//!
//! One file per carrier, each a function from an object or a file to [`Install`]s: plain data in which
//! every item has the line it comes from. Facts that the tree does not contain are `None`; `context` adds defaults and
//! chooses between control planes.

mod chart;
mod config_map;
mod from_object;
mod installation;
mod istiod;
mod maistra;
mod network_chart;
mod operator;
mod release;
mod rendered;
mod sail;
mod values;
mod values_file;
mod version;
mod webhook_config;

pub use chart::{PlainFile, installs_mesh, is_gateway_chart};
pub use from_object::{GENERATOR, concerns, from_object};
pub use installation::{Carrier, EnablementSelector, Install, NativeSidecars, Part, Webhook};
pub use maistra::{MEMBER_OF, states_members};
pub use release::{
    ChartRelease, FILLED_IN, FoundChart, ReleaseValues, ValuesText, has_only_istio_charts,
    of_kustomization, of_object,
};
pub use values::Place;
pub use values_file::from_values_file;
pub use version::{version_of_image, version_of_revision};
