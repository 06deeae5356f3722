//! The numbers in the header.

use super::markup::{Markup, element};

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
    let items = all.iter().map(|tile| {
        let class = if tile.count == 0 { "plain" } else { tile.class };
        let mut content = element("dt").text(tile.name);
        content.push(
            element("dd")
                .with("id", &format!("count-{}", tile.name))
                .text(&tile.count.to_string()),
        );
        element("div")
            .class(&format!("tile {class}"))
            .holding(content)
    });
    element("dl").class("tiles").holding(items.collect())
}
