//! What if a fact were different: verdicts under other assumptions.

pub(crate) mod ambiguous_control_planes;
pub(crate) mod evaluate;
pub(crate) mod unmodelled;
