//! The code of the crates as text: what tests of its structure read.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use walkdir::WalkDir;

/// A `use` item: its visibility and its tree.
pub(crate) static USE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?-u:\s)*(pub(?:\([^)]*\))?(?-u:\s)+)?use(?-u:\s)+([^;]+);").unwrap()
});

/// Returns the source folders of all crates, from the root package to the inner ones.
pub(crate) fn crate_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    folders.sort();
    folders.insert(0, root.join("src"));
    folders
}

/// Returns the Rust files of a folder and its subfolders, sorted.
pub(crate) fn rust_files(root: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let entries = WalkDir::new(root).into_iter().map(Result::unwrap);
    let mut files: Vec<PathBuf> = entries
        .map(walkdir::DirEntry::into_path)
        .filter(is_rust)
        .collect();
    files.sort();
    files
}

/// Returns the numbered lines of a file without comment lines and the items that only tests compile.
pub(crate) fn code(text: &str) -> Vec<(usize, String)> {
    let mut code = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // rustfmt puts the end of an item at the indentation of its start.
            let indent = |line: &str| line.len() - line.trim_start().len();
            let own = indent(line);
            let ends = |line: &str| indent(line) == own && line.ends_with([';', '}']);
            let _ = lines.find(|(_, line)| ends(line));
        } else if !line.trim_start().starts_with("//") {
            code.push((number + 1, line.to_owned()));
        }
    }
    code
}

/// Returns the paths that the `use` items of a text import.
pub(crate) fn imported_paths(text: &str) -> Vec<String> {
    USE.captures_iter(text)
        .flat_map(|item| leaves(&item[2]))
        .collect()
}

/// Returns the single paths of a `use` tree, without renames.
pub(crate) fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((prefix, list)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let list = list.trim_end().trim_end_matches('}');
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items
        .into_iter()
        .filter(|item| !item.trim().is_empty())
        .flat_map(|item| {
            // A list inside of the list has lost its last brace if it was the last item.
            let missing = item.matches('{').count() - item.matches('}').count();
            leaves(&format!("{}{}", item.trim(), "}".repeat(missing)))
        })
        .map(|leaf| format!("{}{leaf}", prefix.trim()))
        .map(|leaf| leaf.trim_end_matches("::self").to_owned())
        .collect()
}
