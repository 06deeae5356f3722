//! The nodes that a deserializer may still read.

use std::cell::Cell;

use super::error::{Fault, fault};
use crate::merge::BudgetExceeded;
use crate::tree::NodeRef;

/// Reader of a node, with the limits that remain.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t, 'b> {
    pub(super) node: NodeRef<'t>,
    pub(super) budget: &'b Cell<usize>,
    pub(super) depth: usize,
}

impl<'t, 'b> Reader<'t, 'b> {
    /// Returns a reader of a node below this one.
    ///
    /// # Errors
    /// [`Fault`] if the node is nested too deep, or aliases repeat too many nodes.
    pub(super) fn child(self, node: NodeRef<'t>) -> Result<Reader<'t, 'b>, Fault> {
        let left = self.budget.get().checked_sub(1);
        self.budget.set(left.ok_or(BudgetExceeded)?);
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| fault("nested too deep"))?;
        Ok(Reader {
            node,
            budget: self.budget,
            depth,
        })
    }
}
