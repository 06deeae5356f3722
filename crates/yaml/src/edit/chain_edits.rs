//! Composition of two rounds of edits.

use crate::span::Span;
use crate::text_edit::Edit;

/// A part of the text between the two rounds.
enum Piece<'e> {
    /// Bytes of the original.
    Kept(Span),
    /// Text of the first round.
    New(&'e str),
}

/// Returns edits of the original text that have the same effect as `first` followed by `second`, whose offsets refer to
/// the text after `first`. Both must be sorted and must not overlap; `len` is the length of the original.
pub(super) fn chain(first: &[Edit], second: &[Edit], len: usize) -> Vec<Edit> {
    let pieces = pieces(first, len);
    let mut out = Composer::default();
    let mut done = 0;
    for edit in second {
        out.copy(&pieces, Span::new(done, edit.span.start));
        out.text.push_str(&edit.text);
        done = edit.span.end;
    }
    out.copy(&pieces, Span::new(done, usize::MAX));
    out.flush(len);
    out.edits
}

fn pieces(edits: &[Edit], len: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(edits.len() * 2 + 1);
    let mut done = 0;
    for edit in edits {
        pieces.push(Piece::Kept(Span::new(done, edit.span.start)));
        pieces.push(Piece::New(&edit.text));
        done = edit.span.end;
    }
    pieces.push(Piece::Kept(Span::new(done, len)));
    pieces
}

#[derive(Default)]
struct Composer {
    edits: Vec<Edit>,
    /// Offset after the last byte of the original that is kept.
    kept: usize,
    /// New text after that byte.
    text: String,
}

impl Composer {
    /// Copies `range` of the text between the rounds.
    fn copy(&mut self, pieces: &[Piece<'_>], range: Span) {
        let mut at = 0;
        for piece in pieces {
            let len = match piece {
                Piece::Kept(span) => span.len(),
                Piece::New(text) => text.len(),
            };
            let from = range.start.saturating_sub(at).min(len);
            let to = range.end.saturating_sub(at).min(len);
            at += len;
            if from >= to {
                continue;
            }
            match piece {
                Piece::Kept(span) => self.keep(Span::new(span.start + from, span.start + to)),
                Piece::New(text) => self.text.push_str(text.get(from..to).unwrap_or_default()),
            }
        }
    }

    fn keep(&mut self, span: Span) {
        self.flush(span.start);
        self.kept = span.end;
    }

    /// Records the edit between the last byte that is kept and `next`.
    fn flush(&mut self, next: usize) {
        if next > self.kept || !self.text.is_empty() {
            self.edits.push(Edit {
                span: Span::new(self.kept, next),
                text: std::mem::take(&mut self.text),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::edit::chain_edits::*;
    use crate::text_edit::splice;

    /// Converts numbers to sorted edits that do not overlap.
    fn edits(len: usize, cuts: &[(usize, usize, String)]) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut at = 0;
        for (skip, take, text) in cuts {
            let start = (at + skip).min(len);
            let end = (start + take).min(len);
            if edits.last().is_some_and(|last| last.span.end == start) {
                continue;
            }
            edits.push(Edit {
                span: Span::new(start, end),
                text: text.clone(),
            });
            at = end;
        }
        edits
    }

    proptest! {
        #[test]
        fn composed_edits_give_the_same_text_as_both_rounds(
            text in "[a-z]{0,20}",
            first_cuts in prop::collection::vec((0usize..5, 0usize..4, "[A-Z]{0,4}"), 0..5),
            second_cuts in prop::collection::vec((0usize..5, 0usize..4, "[0-9]{0,4}"), 0..5),
        ) {
            let first = edits(text.len(), &first_cuts);
            let middle = splice(&text, &first);
            let second = edits(middle.len(), &second_cuts);
            let both = chain(&first, &second, text.len());
            prop_assert_eq!(splice(&text, &both), splice(&middle, &second));
            prop_assert!(both.is_sorted_by(|a, b| a.span.end < b.span.start));
        }
    }
}
