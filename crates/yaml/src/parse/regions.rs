//! The parts of a document in which white space is not content.

use crate::arena::Arena;
use crate::span::Span;
use crate::tree::Style;

/// Where a place is in a document.
pub(super) enum Region {
    /// Within a quoted scalar.
    Quotes,
    /// Within another scalar.
    Scalar(Span),
    /// Within a flow collection, between tokens.
    Brackets,
    /// Between the tokens of block collections.
    Block,
}

impl Region {
    /// Returns whether white space at the start of a line is not content.
    pub(super) const fn ignores_indentation(&self) -> bool {
        matches!(self, Self::Quotes | Self::Brackets)
    }

    /// Returns whether white space is content, unless it is in the header of a block scalar.
    pub(super) const fn is_other_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_))
    }

    /// Returns whether white space separates tokens.
    pub(super) const fn is_between_tokens(&self) -> bool {
        matches!(self, Self::Brackets | Self::Block)
    }

    /// Returns whether a comment can start at `at`: it is between tokens, or in the header of a block scalar.
    pub(super) fn accepts_comment(&self, text: &str, at: usize) -> bool {
        match self {
            Self::Brackets | Self::Block => true,
            Self::Quotes => false,
            Self::Scalar(span) => {
                let header = Span::new(span.start, at).slice(text);
                header.starts_with(['|', '>']) && !header.contains(['\n', '\r'])
            }
        }
    }
}

/// Finds the regions of places that are in order.
pub(super) struct Regions<N: Iterator<Item = (Style, Span)>> {
    nodes: std::iter::Peekable<N>,
    /// The last scalar that starts before the place.
    scalar: (Style, Span),
    /// The end of the flow collections that start before the place.
    brackets_end: usize,
}

impl Regions<std::vec::IntoIter<(Style, Span)>> {
    pub(super) fn new(arena: &Arena) -> Self {
        let scalars_and_brackets = |(style, _): &(Style, Span)| *style != Style::Block;
        let nodes: Vec<_> = arena.nodes().filter(scalars_and_brackets).collect();
        Self {
            nodes: nodes.into_iter().peekable(),
            scalar: (Style::Empty, Span::empty(0)),
            brackets_end: 0,
        }
    }
}

impl<N: Iterator<Item = (Style, Span)>> Regions<N> {
    /// Returns the region of a place, which is not before the one of the last call.
    pub(super) fn at(&mut self, place: usize) -> Region {
        while let Some((style, span)) = self.nodes.next_if(|(_, span)| span.start < place) {
            if style == Style::Flow {
                self.brackets_end = self.brackets_end.max(span.end);
            } else {
                self.scalar = (style, span);
            }
        }
        let (style, span) = self.scalar;
        if place < span.end {
            return match style {
                Style::SingleQuoted | Style::DoubleQuoted => Region::Quotes,
                _ => Region::Scalar(span),
            };
        }
        if place < self.brackets_end {
            Region::Brackets
        } else {
            Region::Block
        }
    }
}
