//! Recognizes entries of kustomizations that are generated before a build, such as the file to which a post-renderer of
//! helm writes its input.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::filesystem::{Entry, FileSystem, Kind};
use crate::source::discover::ignores::Rules;

/// The maximum number of files of a folder that are searched.
const FILES: usize = 64;

/// The maximum size of a script in bytes; real ones are smaller.
const LIMIT: u64 = 64 << 10;

/// Recognizes generated entries. Reads the ignore files of each folder once.
#[derive(Debug, Default)]
pub(super) struct GeneratedEntries {
    /// The rules of folders, by their resolved paths; `None` if an ignore file must not be opened.
    rules: HashMap<PathBuf, Option<Rules>>,
}

impl GeneratedEntries {
    /// Returns whether the missing entry at the resolved path `place` is generated: git ignores it, or a script in the
    /// folder of the kustomization writes it. `folder` is the resolved path of that folder.
    pub(super) fn contain(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        self.is_ignored(folder, place, files) || is_written_by_script(folder, place, files)
    }

    /// Returns whether an ignore file hides a path, or a folder of it that does not contain `folder`.
    fn is_ignored(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        let rules = place.parent().and_then(|parent| self.rules(parent, files));
        let own = place
            .ancestors()
            .take_while(|path| !folder.starts_with(path));
        rules.is_some_and(|rules| {
            rules.hide(place, false) || own.into_iter().any(|path| rules.hide(path, true))
        })
    }

    /// Returns the rules for a folder, those of its own ignore files included.
    fn rules(&mut self, folder: &Path, files: &FileSystem) -> Option<&Rules> {
        let known = self.rules.entry(folder.to_path_buf());
        let rules = known.or_insert_with(|| {
            let above = Rules::above(folder, files).ok()?;
            let own = || folder.to_path_buf();
            above.within(folder, own, |_| true, files).ok()
        });
        rules.as_ref()
    }
}

/// Returns whether a script in a folder writes the file.
fn is_written_by_script(folder: &Path, place: &Path, files: &FileSystem) -> bool {
    let name = place.file_name().and_then(|name| name.to_str());
    let (Some(name), true) = (name, place.parent() == Some(folder)) else {
        return false;
    };
    let Ok(entries) = files.entries(folder) else {
        return false;
    };
    let mut entries: Vec<Entry> = entries.into_iter().flatten().collect();
    // The order of directory entries is arbitrary.
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let is_small = |path: &Path| {
        let length = files.file_length(path);
        length.is_ok_and(|length| length.is_some_and(|length| length <= LIMIT))
    };
    entries
        .iter()
        .take(FILES)
        .filter(|entry| entry.kind == Kind::File)
        .map(|entry| folder.join(&entry.name))
        .any(|path| is_small(&path) && is_script_that_writes(&path, name, files))
}

fn is_script_that_writes(path: &Path, name: &str, files: &FileSystem) -> bool {
    let file_name = path.file_name().and_then(|name| name.to_str());
    let is_makefile = file_name.is_some_and(|name| name.eq_ignore_ascii_case("makefile"));
    let text = files.read_resolved_text(path).unwrap_or_default();
    (is_makefile || text.starts_with("#!")) && text.lines().any(|line| writes(line, name))
}

/// Returns whether a line of a script writes a file with this name: `cat > all.yaml`, `tee "$folder/all.yaml"`.
fn writes(line: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + name.len()..).unwrap_or_default();
        let is_name = !before.ends_with(is_part) && !after.starts_with(is_part);
        let is_output = before.contains('>') || before.split_whitespace().any(|word| word == "tee");
        is_name && is_output && !before.trim_start().starts_with('#')
    })
}

#[cfg(test)]
mod tests {
    use super::writes;

    #[test]
    fn output_files_are_recognized() {
        for line in [
            "cat > all.yaml",
            "cat <&0 >\"$(dirname \"$0\")/all.yaml\"",
            "tee all.yaml",
        ] {
            assert!(writes(line, "all.yaml"), "{line}");
        }
        for line in [
            "kubectl apply -f all.yaml",
            "cat > small.yaml",
            "cat > all.yaml.bak",
            "# cat > all.yaml",
        ] {
            assert!(!writes(line, "all.yaml"), "{line}");
        }
    }
}
