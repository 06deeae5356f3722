//! How each mesh treats probes; one folder per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

#[macro_use]
mod registry;
mod description;
pub mod detect;
mod fact;
mod fault;
pub mod model;
mod version;

macro_rules! declare {
    ($($mesh:ident [$($rules:ident)?],)+) => {
        $(pub mod $mesh;)+
    };
}
for_each_mesh!(declare);

pub use description::{KeyMap, KeyOwner, KnownKey, Mesh, MeshSetup, SetupSource};
pub use fact::{Fact, Reason};
pub use fault::{FaultEffect, FaultPlace, ProbeFault, shared_faults};
pub use registry::{
    ProvenRelease, all, faults, installed_release, is_newer_than_proven, known_keys, model_of,
    newest_proven, release_of_chart, setups,
};
pub use version::{ReleaseChange, Version};
