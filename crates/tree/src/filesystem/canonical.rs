//! The canonical form of a path that exists on disk.

use std::io;
use std::path::{Path, PathBuf};

/// Resolves links and `..`, and returns an absolute path.
///
/// Windows resolves to the verbatim form (`\\?\C:\x`), which differs from the form that users and the system write. If
/// the usual form means the same path, this function returns it, so that paths can be compared and shown.
///
/// # Errors
/// The same as of [`Path::canonicalize`].
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(usual_form)
}

#[cfg(not(windows))]
fn usual_form(path: PathBuf) -> PathBuf {
    path
}

#[cfg(windows)]
fn usual_form(path: PathBuf) -> PathBuf {
    use std::path::{Component, Prefix};

    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else {
        return path;
    };
    let mut usual = match prefix.kind() {
        Prefix::VerbatimDisk(letter) => PathBuf::from(format!("{}:\\", char::from(letter))),
        Prefix::VerbatimUNC(server, share) => {
            let mut start = std::ffi::OsString::from(r"\\");
            start.push(server);
            start.push(r"\");
            start.push(share);
            start.push(r"\");
            PathBuf::from(start)
        }
        _ => return path,
    };
    for part in parts {
        match part {
            Component::RootDir => {}
            Component::Normal(name) if keeps_its_meaning(name) => usual.push(name),
            _ => return path,
        }
    }
    usual
}

/// Returns whether a name has the same meaning outside of a verbatim path, where Windows removes dots and spaces at its
/// end, and reserves the names of devices.
#[cfg(windows)]
fn keeps_its_meaning(name: &std::ffi::OsStr) -> bool {
    const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
    let Some(name) = name.to_str() else {
        return false;
    };
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = ["COM", "LPT"].iter().any(|device| {
        let number = stem.strip_prefix(device);
        number.is_some_and(|number| number.chars().count() == 1)
    });
    !name.ends_with(['.', ' ']) && !DEVICES.contains(&stem.as_str()) && !numbered
}

#[cfg(all(test, windows))]
mod tests {
    use super::usual_form;
    use std::path::{Path, PathBuf};

    #[test]
    fn verbatim_paths_are_returned_in_the_usual_form() {
        for (verbatim, usual) in [
            (r"\\?\C:\repo\a.yaml", r"C:\repo\a.yaml"),
            (r"\\?\UNC\server\share\a.yaml", r"\\server\share\a.yaml"),
            (r"\\?\C:\repo\nul", r"\\?\C:\repo\nul"),
            (r"\\?\C:\repo\a.", r"\\?\C:\repo\a."),
            (r"C:\repo", r"C:\repo"),
        ] {
            assert_eq!(usual_form(PathBuf::from(verbatim)), Path::new(usual));
        }
    }
}
