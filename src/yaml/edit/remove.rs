//! Takes entries and items away.

use super::EditError;
use super::emit::{Child, Emitter, children};
use crate::yaml::tree::{NodeRef, Style};

impl<'t> Emitter<'t> {
    /// Removes children, but never all of them.
    pub(super) fn remove(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        removed: &[usize],
    ) -> Result<(), EditError> {
        if node.style() == Style::Flow {
            self.remove_flow(children, removed);
            return Ok(());
        }
        for &index in removed {
            let next = children.get(index + 1);
            let next = next.filter(|_| removed.binary_search(&(index + 1)).is_err());
            let previous = index.checked_sub(1).and_then(|before| children.get(before));
            if let Some(child) = children.get(index) {
                self.remove_block(child, previous, next)?;
            }
        }
        Ok(())
    }

    fn remove_block(
        &mut self,
        child: &Child<'t>,
        previous: Option<&Child<'t>>,
        next: Option<&Child<'t>>,
    ) -> Result<(), EditError> {
        let start = self.child_start(child);
        let end = child.span().end;
        if self.lines.leads(start) {
            let mut line = self.lines.next(end);
            // Empty lines would become part of a block scalar above that keeps them.
            while previous.is_some_and(|above| keeps_lines(above.value))
                && self.lines.next(line) > line
                && self.lines.rest_is_blank(line)
            {
                line = self.lines.next(line);
            }
            self.edit(self.lines.start(start), line, "");
            return Ok(());
        }
        let before = self.lines.slice(self.lines.start(start), start);
        let before = before.trim_end_matches([' ', '\t']);
        if !before.ends_with('-') {
            return Err(EditError {
                offset: start,
                reason: "an entry with other text before it in its line cannot be removed".into(),
            });
        }
        match next.map(|next| self.child_start(next)) {
            Some(next) if self.lines.start(next) == self.lines.next(end) => {
                self.edit(start, next, "");
            }
            // Comments stand between: the dash stays alone.
            _ => self.edit(
                self.lines.start(start) + before.len(),
                self.lines.end(end),
                "",
            ),
        }
        Ok(())
    }
}

/// Tells whether a value ends with a block scalar that keeps all empty lines below it.
fn keeps_lines(node: NodeRef<'_>) -> bool {
    let mut leaf = node;
    while let Some(last) = children(leaf).last() {
        leaf = last.value;
    }
    let header = leaf
        .source()
        .split(char::is_whitespace)
        .next()
        .unwrap_or_default();
    matches!(leaf.style(), Style::Literal | Style::Folded) && header.contains('+')
}
