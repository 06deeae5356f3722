//! How each mesh treats probes; one folder per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

#[macro_use]
mod registry;
mod default_release;
mod definition;
pub mod detect;
mod fact;
pub mod fact_kind;
mod fault;
mod finding_facts;
mod go_bool;
mod known_key;
mod markers;
pub mod model;
mod name;
mod proven;
mod release_change;
mod setup;
pub mod shared_faults;
mod version;

macro_rules! declare {
    ($($visibility:vis $mesh:ident,)+) => {
        $($visibility mod $mesh;)+
    };
}
for_each_mesh!(declare);

pub use fact::{Fact, Reason};
pub use fault::{FaultEffect, FaultPlace, ProbeFault};
pub use known_key::{KeyMap, KeyOwner, KnownKey};
pub use name::Mesh;
pub use proven::ProvenRelease;
pub use registry::{all, faults, is_newer_than_proven, known_keys, newest_proven, setups};
pub use registry::{installed_release, model_of};
pub use release_change::ReleaseChange;
pub use setup::{MeshSetup, SetupSource};
pub use version::Version;
