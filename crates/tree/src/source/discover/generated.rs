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
    /// The folder that was searched last, with the texts of its scripts. Entries of one kustomization follow each other.
    scripts: Option<(PathBuf, Vec<String>)>,
}

impl GeneratedEntries {
    /// Returns whether the missing entry at the resolved path `place` is generated: git ignores it, or a script in the
    /// folder of the kustomization writes it. `folder` is the resolved path of that folder.
    pub(super) fn contain(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        self.is_ignored(folder, place, files) || self.is_written_by_script(folder, place, files)
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
        let unknown = folder.ancestors();
        let unknown: Vec<&Path> = unknown
            .take_while(|above| !self.rules.contains_key(*above))
            .collect();
        for below in unknown.into_iter().rev() {
            let above = match below.parent() {
                Some(parent) => self.rules.get(parent).cloned().flatten(),
                None => Some(Rules::default()),
            };
            let own = || below.to_path_buf();
            let rules = above.and_then(|above| above.within(below, own, |_| true, files).ok());
            self.rules.insert(below.to_path_buf(), rules);
        }
        self.rules.get(folder)?.as_ref()
    }

    /// Returns whether a script in a folder writes the file.
    fn is_written_by_script(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        let name = place.file_name().and_then(|name| name.to_str());
        let (Some(name), true) = (name, place.parent() == Some(folder)) else {
            return false;
        };
        let known = self.scripts.take().filter(|(known, _)| known == folder);
        let scripts = known.unwrap_or_else(|| (folder.to_path_buf(), scripts_in(folder, files)));
        let mut lines = scripts.1.iter().flat_map(|script| script.lines());
        let is_written = lines.any(|line| writes(line, name));
        self.scripts = Some(scripts);
        is_written
    }
}

/// Returns the texts of the scripts in a folder.
fn scripts_in(folder: &Path, files: &FileSystem) -> Vec<String> {
    let Ok(entries) = files.entries(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<Entry> = entries.into_iter().flatten().collect();
    // The order of directory entries is arbitrary.
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    entries
        .iter()
        .filter(|entry| entry.kind == Kind::File && !is_manifest(Path::new(&entry.name)))
        .take(FILES)
        .filter_map(|entry| script(&folder.join(&entry.name), files))
        .collect()
}

/// Returns whether a file is a manifest by its name, so that it is not a script.
fn is_manifest(name: &Path) -> bool {
    let extension = name.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Returns the text of a file if it is a script.
fn script(path: &Path, files: &FileSystem) -> Option<String> {
    let length = files.file_length(path).ok()??;
    if length > LIMIT {
        return None;
    }
    let file_name = path.file_name().and_then(|name| name.to_str());
    let is_makefile = file_name.is_some_and(|name| name.eq_ignore_ascii_case("makefile"));
    let text = files.read_resolved_text(path).ok()?;
    (is_makefile || text.starts_with("#!")).then_some(text)
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
