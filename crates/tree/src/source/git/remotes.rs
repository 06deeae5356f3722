//! Addresses of the remote repositories of a clone.
//!
//! Source: git 2.47, `Documentation/config.txt` ("Syntax").

use std::path::Path;

use crate::filesystem::FileSystem;
use crate::source::git::folders::{git_folders, small_text};

/// Returns the URLs of all remotes of the repository at `root`, a resolved path. Included files are not read.
pub(in crate::source) fn remote_urls(root: &Path, files: &FileSystem) -> Vec<String> {
    let Some(folders) = git_folders(root, files) else {
        return Vec::new();
    };
    let folder = folders.shared.unwrap_or(folders.own);
    let config = small_text(&folder.join("config"), files);
    config.as_deref().map(urls).unwrap_or_default()
}

/// Returns the values of `url` in the sections of remotes.
fn urls(config: &str) -> Vec<String> {
    let mut is_remote = false;
    let mut found = Vec::new();
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split([' ', '\t', ']', '"']).next();
            is_remote = name.is_some_and(|name| name.eq_ignore_ascii_case("remote"));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_remote) else {
            continue;
        };
        if key.trim().eq_ignore_ascii_case("url") {
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            found.push(quoted.unwrap_or(value).to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::urls;

    #[test]
    fn the_urls_of_all_remotes_are_read() {
        let config = "[core]\n\turl = no\n[remote \"origin\"]\n\tfetch = +refs/*:refs/*\n\tURL = git@example.org:a/b.git\n\
                      \tpushurl = https://push.example\n[branch \"main\"]\n\tremote = origin\n[Remote \"up\"]\nurl=\"https://e/c\"\n";
        assert_eq!(urls(config), ["git@example.org:a/b.git", "https://e/c"]);
    }
}
