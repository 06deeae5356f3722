//! The numbers in the header.

use maud::{Markup, html};

/// A number with its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// The class of the style sheet.
    pub(super) class: &'static str,
    /// What is counted.
    pub(super) name: &'static str,
    pub(super) count: usize,
}

/// Returns the list of numbers.
pub(super) fn tiles(all: &[Tile]) -> Markup {
    html! {
        dl.tiles {
            @for tile in all {
                div class={ "tile " (if tile.count == 0 { "plain" } else { tile.class }) } {
                    dt { (tile.name) }
                    dd id={ "count-" (tile.name) } { (tile.count) }
                }
            }
        }
    }
}
