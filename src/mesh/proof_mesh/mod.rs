//! A mesh that does not exist: it shows what a new mesh touches.

mod definition;
pub(crate) mod faults;
mod model;
mod name;
mod setups;

pub(super) use definition::DEFINITION;
