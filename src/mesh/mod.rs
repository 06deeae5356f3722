//! What each mesh does to probes; one folder or file per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

mod fact;
pub mod istio;
mod version;

pub use fact::{Fact, Reason};
pub use version::Version;
