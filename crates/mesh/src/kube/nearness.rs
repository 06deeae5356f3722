//! Proximity of two files in the folders of a tree.

use meshprobe_tree::source::paths;

/// Returns a score for the proximity of the files `a` and `b`: the more leading folders they share,
/// the higher. A file has the highest score with itself. Both paths are as shown to the user.
#[must_use]
pub fn nearness(a: &str, b: &str) -> usize {
    paths::nearness(a, b)
}

/// Returns whether the folder of the file `above` is the folder of `below` or an ancestor of it.
#[must_use]
pub fn is_in_ancestor_folder(above: &str, below: &str) -> bool {
    paths::is_within(paths::folder(below), paths::folder(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_itself_is_nearest_then_the_file_with_the_deepest_common_folder() {
        let workload = "clusters/prod/apps/web.yaml";
        let order = [
            "other/ns.yaml",
            "clusters/stage/ns.yaml",
            "clusters/prod/ns.yaml",
            "clusters/prod/apps/ns.yaml",
            workload,
        ];
        let scores: Vec<_> = order.iter().map(|fact| nearness(fact, workload)).collect();
        assert!(scores.is_sorted(), "{scores:?}");
        assert!(scores.first() < scores.get(1));
    }

    #[test]
    fn a_folder_is_above_the_files_that_it_contains() {
        assert!(is_in_ancestor_folder("a.yaml", "x/y/b.yaml"));
        assert!(is_in_ancestor_folder("x/a.yaml", "x/b.yaml"));
        assert!(is_in_ancestor_folder("x/a.yaml", "x/y/b.yaml"));
        assert!(!is_in_ancestor_folder("x/y/a.yaml", "x/b.yaml"));
        assert!(!is_in_ancestor_folder("x/z/a.yaml", "x/y/b.yaml"));
    }
}
