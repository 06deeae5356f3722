//! The pages of rules, notices and guards: `docs/rules/<id>.md`.

/// The headings of the sections that `tests/it/rules/page` generates from the output of the program.
pub const GENERATED_SECTIONS: [&str; 3] = ["Output", "Changed lines", "Suppress"];

/// Returns a page of `docs/rules` without its title, the line with its metadata, and white space around the rest.
#[must_use]
pub fn page_body(page: &str) -> &str {
    let body = page.splitn(3, "\n\n").nth(2);
    body.unwrap_or_default().trim()
}

/// Returns the line with the metadata of a page of `docs/rules`.
#[must_use]
pub fn page_metadata(page: &str) -> &str {
    page.split("\n\n").nth(1).unwrap_or_default()
}

/// Returns the text of a page without its generated sections.
#[must_use]
pub fn written_sections(body: &str) -> String {
    let is_generated = |section: &&str| {
        let heading = section.lines().next().unwrap_or_default();
        !GENERATED_SECTIONS.contains(&heading)
    };
    let mut parts = body.split("\n## ");
    let first = parts.next().unwrap_or_default();
    let kept: Vec<&str> = std::iter::once(first)
        .chain(parts.filter(is_generated))
        .collect();
    kept.join("\n## ").trim_end().to_owned()
}

/// Returns the text with its links written out for a terminal: `[text](https://…)` becomes `text (https://…)`, and a link to
/// another page its text. Code is not changed.
#[must_use]
pub fn without_links(text: &str) -> String {
    map_links(text, |text, target| {
        if target.starts_with("https://") {
            format!("{text} ({target})")
        } else {
            text.to_owned()
        }
    })
}

/// Replaces the Markdown links of a text, which `replace` receives as text and target. Blocks of code are not changed.
pub fn map_links(text: &str, replace: impl Fn(&str, &str) -> String) -> String {
    let mut is_code = false;
    let lines = text.split('\n').map(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            line.to_owned()
        } else {
            map_line(line, &replace)
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn map_line(line: &str, replace: impl Fn(&str, &str) -> String) -> String {
    let mut mapped = String::new();
    let mut rest = line;
    while let Some((before, text, target, after)) = next_link(rest) {
        mapped.push_str(before);
        mapped.push_str(&replace(text, target));
        rest = after;
    }
    mapped + rest
}

/// Returns the text before the first link of a line, its text, its target, and the rest of the line.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    let start = line.get(..middle)?.rfind('[')?;
    let (target, after) = line.get(middle + 2..)?.split_once(')')?;
    Some((
        line.get(..start)?,
        line.get(start + 1..middle)?,
        target,
        after,
    ))
}

/// Embeds the page of a rule, notice or guard: `docs/rules/<id>.md`.
macro_rules! page {
    ($id:literal) => {
        include_str!(concat!(env!("MESHPROBE_DOCS"), "/rules/", $id, ".md"))
    };
}
pub(crate) use page;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# id\n\nSeverity: error.\n\nText.\n\n## Output\na\n\n## Fix safety\nb\n\n## Suppress\nc\n";

    #[test]
    fn generated_sections_are_left_out() {
        assert_eq!(page_metadata(PAGE), "Severity: error.");
        assert_eq!(
            written_sections(page_body(PAGE)),
            "Text.\n\n## Fix safety\nb"
        );
    }

    #[test]
    fn links_are_written_out_except_in_code() {
        let text = "- A: [b](https://c.d/e), [f](g.md)\n```text\n[b](https://c)\n```\n[x] (y)";
        let plain = "- A: b (https://c.d/e), f\n```text\n[b](https://c)\n```\n[x] (y)";
        assert_eq!(without_links(text), plain);
    }
}
