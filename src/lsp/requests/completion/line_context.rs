//! The keys around a line, read from the indentation of the lines before it.

/// A key around a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key<'t> {
    /// The key.
    pub(super) name: &'t str,
    /// The value of `kind` in the same mapping, as far as the lines before show it.
    pub(super) kind: Option<&'t str>,
}

/// A line with a key.
struct Line<'t> {
    /// The number of bytes before the key; a `- ` counts as white space.
    indent: usize,
    /// Whether the key starts an item of a list.
    is_item: bool,
    name: &'t str,
    value: &'t str,
}

/// Returns the keys around a line with this indentation, the innermost first. `before` is the text before the line.
pub(super) fn parents(before: &str, indent: usize) -> Vec<Key<'_>> {
    let mut found: Vec<Key<'_>> = Vec::new();
    let mut indent = indent;
    for line in before.lines().rev() {
        if line.starts_with("---") {
            break;
        }
        let Some(line) = read(line) else {
            continue;
        };
        if let Some(last) = found.last_mut()
            && line.indent == indent
            && line.name == "kind"
            && last.kind.is_none()
        {
            last.kind = Some(line.value);
        }
        // An item of a list may have the indentation of the key of the list.
        let is_around = line.indent < indent && !line.name.is_empty();
        if is_around && (line.value.is_empty() || line.value.starts_with('&')) {
            found.push(Key {
                name: line.name,
                kind: None,
            });
        }
        if line.indent < indent {
            indent = line.indent;
        }
        if line.is_item && line.indent == indent {
            // The other keys of the mapping follow the item; the list is around it.
            indent = indent.saturating_sub(1);
        }
    }
    found
}

/// Returns the key of a line; `None` for a line without one.
fn read(line: &str) -> Option<Line<'_>> {
    let content = line.trim_start();
    if content.is_empty() || content.starts_with('#') {
        return None;
    }
    let item = content.strip_prefix("- ").map(str::trim_start);
    let key = item.unwrap_or(content);
    let (name, value) = key.split_once(':')?;
    Some(Line {
        indent: line.len() - key.len(),
        is_item: item.is_some(),
        name: name.trim().trim_matches(['"', '\'']),
        value: value.split(" #").next().unwrap_or_default().trim(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(before: &str, indent: usize) -> Vec<&str> {
        parents(before, indent)
            .into_iter()
            .map(|key| key.name)
            .collect()
    }

    #[test]
    fn keys_with_less_indentation_are_around_a_line() {
        let text = "a:\n  b: c\n  d:\n    - e: 1\n      f:\n        g: 2\n";
        assert_eq!(names(text, 8), ["f", "d", "a"]);
        assert_eq!(names(text, 2), ["a"]);
        assert_eq!(names("a:\n- b:\n    c: 1\n", 4), ["b", "a"]);
        assert_eq!(names("a:\n- b:\n    c: 1\n  d:\n", 4), ["d", "a"]);
    }
}
