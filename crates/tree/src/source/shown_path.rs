//! Display text of paths.

use std::path::{Component, Path};

use crate::filesystem::without_dots;
use crate::source::escaped_name::escaped_name;

/// Returns the unique display text of a path: relative to the working directory, with `/`, or absolute if they
/// have no common folder.
#[must_use]
pub fn shown_path(path: &Path, working_directory: &Path) -> String {
    if let Some(shown) = shown_below(path, working_directory) {
        return shown;
    }
    let full = without_dots(&working_directory.join(path));
    let base = without_dots(working_directory);
    // `..` is useful only with a common folder.
    if top(&full).is_some() && top(&full) == top(&base) {
        return relative_path(&full, &base);
    }
    let below = full.strip_prefix(&base).unwrap_or(&full);
    let mut shown = String::new();
    for component in below.components() {
        match component {
            Component::CurDir => continue,
            Component::RootDir => {
                shown.push('/');
                continue;
            }
            Component::Prefix(disk) => {
                // Only on Windows: `C:`, or `\\server\share`.
                shown.push_str(&escaped_name(disk.as_os_str()).replace('\\', "/"));
                continue;
            }
            _ => {}
        }
        if !shown.is_empty() && !shown.ends_with('/') {
            shown.push('/');
        }
        shown.push_str(&escaped_name(component.as_os_str()));
    }
    if shown.is_empty() {
        ".".to_owned()
    } else {
        shown
    }
}

/// Returns the display text of a path below the working directory without `.` and `..`, which most paths are.
fn shown_below(path: &Path, working_directory: &Path) -> Option<String> {
    let below = path.strip_prefix(working_directory).ok()?;
    let mut shown = String::with_capacity(below.as_os_str().len());
    for component in below.components() {
        let Component::Normal(name) = component else {
            return None;
        };
        if !shown.is_empty() {
            shown.push('/');
        }
        shown.push_str(&escaped_name(name));
    }
    (!shown.is_empty()).then_some(shown)
}

/// Returns the first folder of an absolute path, and on Windows its disk.
fn top(path: &Path) -> Option<(Option<Component<'_>>, Component<'_>)> {
    let mut parts = path.components();
    let disk = parts.clone().next();
    let disk = disk.filter(|part| matches!(part, Component::Prefix(_)));
    let folder = parts.find(|part| matches!(part, Component::Normal(_)))?;
    Some((disk, folder))
}

/// Returns a path relative to a folder, with `/`, and with `..` for paths outside of the folder. Both paths are
/// absolute.
#[must_use]
pub fn relative_path(path: &Path, folder: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        path.components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(escaped_name(name).into_owned()),
                _ => None,
            })
            .collect()
    };
    let (path, folder) = (parts(path), parts(folder));
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder.iter().skip(common).map(|_| "..");
    let down = path.iter().skip(common).map(String::as_str);
    let all: Vec<&str> = up.chain(down).collect();
    if all.is_empty() {
        ".".to_owned()
    } else {
        all.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_relative_to_the_working_directory() {
        let base = Path::new("/w/repo");
        for (path, shown) in [
            ("./a/./b.yaml", "a/b.yaml"),
            ("/w/repo/a.yaml", "a.yaml"),
            ("/w/other/a.yaml", "../other/a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("../repo/a.yaml", "a.yaml"),
            ("b/../a.yaml", "a.yaml"),
            ("/v/a.yaml", "/v/a.yaml"),
            (".", "."),
            ("/w/repo", "."),
            ("/w/repo/a//b/../c.yaml", "a/c.yaml"),
            ("/w/repo/../repo/a.yaml", "a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }

    #[cfg(windows)]
    #[test]
    fn paths_on_other_disks_are_shown_as_absolute_paths() {
        let base = Path::new(r"C:\w\repo");
        for (path, shown) in [
            (r"a\b.yaml", "a/b.yaml"),
            (r"C:\w\other\a.yaml", "../other/a.yaml"),
            (r"D:\w\a.yaml", "D:/w/a.yaml"),
            (r"\\server\share\a.yaml", "//server/share/a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }
}
