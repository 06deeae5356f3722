//! The facts behind each prediction, one handler after the other.

use crate::predict::Explanation;

use super::escape::visible;
use super::look::{Look, Tone};
use super::wrap::wrap;

/// The width of the names in front.
const NAME: usize = 12;

/// Writes every explanation; an empty line lies between two.
#[must_use]
pub fn explanations(all: &[Explanation], look: Look) -> String {
    let blocks: Vec<String> = all.iter().map(|one| block(one, look)).collect();
    blocks.join("\n")
}

fn block(explanation: &Explanation, look: Look) -> String {
    let title = look.paint(Tone::Strong, &visible(&explanation.title));
    let place = look.paint(Tone::Faint, &visible(&explanation.place));
    let mut out = format!("{title}\n  --> {place}\n");
    for line in &explanation.lines {
        let name = look.paint(Tone::Note, &format!("{:<NAME$}", line.name));
        let certainty = match line.certainty {
            "" => String::new(),
            word => format!(" ({word})"),
        };
        let value = format!("{}{certainty}", line.value);
        out.push_str(&wrap(
            &visible(&value),
            &format!("  {name}"),
            NAME + 2,
            look.width,
        ));
        out.push('\n');
        for reason in &line.because {
            let first = " ".repeat(NAME + 4);
            out.push_str(&wrap(&visible(reason), &first, NAME + 4, look.width));
            out.push('\n');
        }
    }
    out
}
