//! How near two files of a tree are to each other.

/// Returns how near the files `a` and `b` are: the more leading folders they share, the nearer;
/// a file is nearest to itself. Both paths are written with `/`.
#[must_use]
pub fn nearness(a: &str, b: &str) -> usize {
    if a == b {
        return usize::MAX;
    }
    1 + folders(a)
        .zip(folders(b))
        .take_while(|(a, b)| a == b)
        .count()
}

/// Tells whether the folder of the file `above` is that of `below` or one that holds it.
#[must_use]
pub fn lies_above(above: &str, below: &str) -> bool {
    let mut below = folders(below);
    folders(above).all(|folder| below.next() == Some(folder))
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    folder.into_iter().flat_map(|folder| folder.split('/'))
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
