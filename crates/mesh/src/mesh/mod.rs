//! How each mesh treats probes; one folder per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

#[macro_use]
mod registry;
mod definition;
mod description;
pub mod detect;
mod fact;
mod fault;
mod go_bool;
pub mod model;
mod proven;
pub mod shared_faults;
mod version;

macro_rules! declare {
    ($($visibility:vis $mesh:ident,)+) => {
        $($visibility mod $mesh;)+
    };
}
for_each_mesh!(declare);

pub use description::{KeyMap, KeyOwner, KnownKey, Mesh, MeshSetup, SetupSource};
pub use fact::{Fact, Reason};
pub use fault::{FaultEffect, FaultPlace, ProbeFault};
pub use proven::ProvenRelease;
pub use registry::{
    all, faults, installed_release, is_newer_than_proven, known_keys, model_of, newest_proven,
    setups,
};
pub use version::{ReleaseChange, Version};
