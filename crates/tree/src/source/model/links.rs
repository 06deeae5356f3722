//! Symbolic links of the tree, which map paths through links to the files that are read.

use std::collections::BTreeMap;

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

/// Map from links to their targets, both as displayed paths without `/` at the end.
#[derive(Clone, Debug, Default)]
pub struct Links(BTreeMap<String, String>);

impl Links {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a link, unless it leads to itself. The target `.` is the working directory.
    pub(in crate::source) fn add(&mut self, link: String, target: String) {
        let target = if target == "." { String::new() } else { target };
        if link != target {
            self.0.insert(link, target);
        }
    }

    /// Adds the links of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Adds the reverse of each link for which `has_files` returns `true`: the files of its target have paths through
    /// the link, because the user named the link first.
    pub(in crate::source) fn reverse(&mut self, mut has_files: impl FnMut(&str) -> bool) {
        let named = self.0.iter().filter(|(link, target)| {
            let is_reversed = self.0.contains_key(*target);
            !is_reversed && has_files(link)
        });
        let reversed: Vec<_> = named
            .map(|(link, target)| (target.clone(), link.clone()))
            .collect();
        self.0.extend(reversed);
    }

    /// Returns the names of a path without `.` and `..`: the path itself, and the paths to which its links lead step by
    /// step. Stops at a repeated name, because links can form a cycle.
    pub(in crate::source) fn names(&self, path: String) -> Vec<String> {
        let mut names = vec![path];
        while names.len() <= LINKS
            && let Some(next) = names.last().and_then(|last| self.step(last))
            && !names.contains(&next)
        {
            names.push(next);
        }
        names
    }

    /// Replaces the first link on a path.
    fn step(&self, path: &str) -> Option<String> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        ends.filter_map(|end| path.split_at_checked(end))
            .find_map(|(link, rest)| {
                let target = self.0.get(link)?;
                let rest = rest.trim_start_matches('/');
                Some(match (target.as_str(), rest) {
                    (target, "") => target.to_owned(),
                    ("", rest) => rest.to_owned(),
                    (target, rest) => format!("{target}/{rest}"),
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_path_follow_several_links() {
        let mut links = Links::default();
        for (link, target) in [
            ("a/b", "c"),
            ("c/d", "e"),
            ("x", ""),
            ("y", "z"),
            ("z", "y"),
        ] {
            links.add(link.to_owned(), target.to_owned());
        }
        let names = |path: &str| links.names(path.to_owned());
        assert_eq!(names("a/b"), ["a/b", "c"]);
        assert_eq!(names("a/b/d/f"), ["a/b/d/f", "c/d/f", "e/f"]);
        assert_eq!(names("x/a/b"), ["x/a/b", "a/b", "c"]);
        assert_eq!(names("a/bc"), ["a/bc"]);
        assert_eq!(names("y/a"), ["y/a", "z/a"]);
    }
}
