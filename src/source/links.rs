//! Symbolic links of the tree: a path that leads through one means the file that is read.

use std::collections::BTreeMap;

/// How many links a path may lead through. The limit of Linux.
const LINKS: usize = 40;

/// Where links lead, both as shown and without `/` at the end.
#[derive(Clone, Debug, Default)]
pub struct Links(BTreeMap<String, String>);

impl Links {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a link that does not lead to itself. The working directory may be written as `.`.
    pub(super) fn add(&mut self, link: String, target: String) {
        let target = if target == "." { String::new() } else { target };
        if link != target {
            self.0.insert(link, target);
        }
    }

    /// Adds the links of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns where a folded path leads, which may be through further links; `None` if it leads through none.
    /// Links in a circle are followed a limited number of times.
    pub(super) fn follow(&self, path: &str) -> Option<String> {
        let mut found = self.step(path)?;
        for _ in 0..LINKS {
            let Some(next) = self.step(&found) else { break };
            found = next;
        }
        Some(found)
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
    fn paths_are_followed_through_several_links() {
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
        let follow = |path| links.follow(path);
        assert_eq!(follow("a/b").as_deref(), Some("c"));
        assert_eq!(follow("a/b/d/f").as_deref(), Some("e/f"));
        assert_eq!(follow("x/a/b").as_deref(), Some("c"));
        assert_eq!(follow("a/bc"), None);
        assert!(follow("y/a").is_some());
    }
}
