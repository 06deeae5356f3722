//! The names of environments that are folders.

/// Returns the last name of a folder: `prod` for `clusters/prod/`.
pub(in crate::context) fn last_name(folder: &str) -> &str {
    let folder = folder.trim_end_matches('/');
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Returns a name that the user gives as it is compared: `clusters/prod` for `./clusters/prod/`.
pub(in crate::context) fn given_name(name: &str) -> &str {
    name.trim_start_matches("./").trim_end_matches('/')
}

/// Usual names of folders that are environments.
const USUAL: [&str; 24] = [
    "acceptance",
    "cluster",
    "demo",
    "dev",
    "development",
    "env",
    "integration",
    "int",
    "live",
    "local",
    "pre-prod",
    "preprod",
    "preview",
    "prod",
    "production",
    "qa",
    "region",
    "sandbox",
    "stage",
    "staging",
    "stg",
    "test",
    "testing",
    "uat",
];

/// Usual names of folders that contain environments.
const USUAL_OUTER: [&str; 8] = [
    "clusters",
    "env",
    "environment",
    "environments",
    "envs",
    "overlays",
    "regions",
    "stages",
];

/// Returns whether sibling folders have names that are usual for environments, or the folder that contains them has such
/// a name: `prod/` and `staging/`, or `clusters/eu/` and `clusters/us/`.
pub(in crate::context) fn are_usual_names(outer: &str, siblings: [&str; 2]) -> bool {
    let has_name = |folder: &str, usual: &[&str]| {
        let name = last_name(folder);
        let mut words = name.split(['-', '_', '.']);
        usual.contains(&name) || words.any(|word| usual.contains(&word))
    };
    has_name(outer, &USUAL_OUTER) || siblings.iter().all(|folder| has_name(folder, &USUAL))
}

/// Returns whether a name is a part of a path that consists of whole folders: `prod/eu` of `clusters/prod/eu/`.
pub(in crate::context) fn is_part_of(name: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    !name.is_empty() && format!("/{path}/").contains(&format!("/{name}/"))
}

/// Returns the last name of each folder, or all paths if two last names are equal.
pub(in crate::context) fn short_names<'f>(folders: impl Iterator<Item = &'f str>) -> Vec<&'f str> {
    let paths: Vec<&str> = folders.map(|folder| folder.trim_end_matches('/')).collect();
    let short: Vec<&str> = paths.iter().map(|path| last_name(path)).collect();
    let mut unique = short.clone();
    unique.sort_unstable();
    unique.dedup();
    if unique.len() == short.len() {
        short
    } else {
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_if_they_differ() {
        let names = |folders: [&'static str; 2]| short_names(folders.into_iter());
        assert_eq!(names(["clusters/prod/", "clusters/eu/"]), ["prod", "eu"]);
        assert_eq!(names(["a/prod/", "b/prod/"]), ["a/prod", "b/prod"]);
        assert!(is_part_of("prod/eu", "clusters/prod/eu/"));
        assert!(!is_part_of("", "clusters/") && !is_part_of("lusters", "clusters/"));
    }
}
