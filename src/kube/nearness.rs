//! How near two files of a tree are to each other.

use crate::source::place;

/// Returns how near the files `a` and `b` are: the more leading folders they share, the nearer;
/// a file is nearest to itself. Both paths are as shown to the user.
#[must_use]
pub fn nearness(a: &str, b: &str) -> usize {
    place::nearness(a, b)
}

/// Tells whether the folder of the file `above` is that of `below` or one that holds it.
#[must_use]
pub fn lies_above(above: &str, below: &str) -> bool {
    place::is_within(place::folder(below), place::folder(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_file_is_nearest_then_the_deepest_common_folder() {
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
    fn a_folder_lies_above_what_it_holds() {
        assert!(lies_above("a.yaml", "x/y/b.yaml"));
        assert!(lies_above("x/a.yaml", "x/b.yaml"));
        assert!(lies_above("x/a.yaml", "x/y/b.yaml"));
        assert!(!lies_above("x/y/a.yaml", "x/b.yaml"));
        assert!(!lies_above("x/z/a.yaml", "x/y/b.yaml"));
    }
}
