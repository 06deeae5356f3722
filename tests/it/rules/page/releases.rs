//! The releases of a mesh for which a rule reports its example.

use meshprobe::mesh::{self, Mesh, Version};
use meshprobe::rules::{Example, Rule};

use super::check;
use crate::support::findings;

/// The label of ambient mode. Its rules do not depend on a release.
const AMBIENT: &str = "istio.io/dataplane-mode: ambient";

/// The end of the metadata of a page, which the page records: the releases of the mesh, and the first meshprobe with it.
pub(in crate::rules) fn metadata_of(present: &str) -> String {
    let start = ["Mesh: ", "Since meshprobe "]
        .iter()
        .find_map(|word| present.find(word));
    let recorded = start.and_then(|start| present.get(start..));
    recorded.map_or_else(
        || format!("Since meshprobe {}.", env!("CARGO_PKG_VERSION")),
        str::to_owned,
    )
}

/// Returns the releases for which `check` reports the example of a rule, such as `Mesh: Istio since 1.12.`; empty if the
/// release does not matter.
pub(in crate::rules) fn releases_of(rule: &Rule) -> String {
    let example = rule.sections().example.unwrap();
    let reports = |mesh: &str, release: Option<&str>| {
        let mut example = example.clone();
        example.arguments = without_mesh(&example.arguments);
        let mut options = vec!["--output-format", "json", "--mesh", mesh];
        options.extend(release.map(|_| "--mesh-version"));
        options.extend(release);
        !findings(&check(rule, &example, &options, |_| {})).is_empty()
    };
    if reports("none", None) {
        return "Mesh: any.".to_owned();
    }
    let mesh = mesh_of(rule, &example);
    if example.files.iter().any(|(_, text)| text.contains(AMBIENT)) {
        return "Mesh: Istio ambient.".to_owned();
    }
    let releases = tested_releases(mesh, &example);
    if releases.len() < 2 {
        return String::new();
    }
    let reported: Vec<bool> = releases
        .iter()
        .map(|release| reports(mesh.as_str(), Some(release)))
        .collect();
    let ranges = ranges(&releases, &reported);
    if ranges.is_empty() {
        return String::new();
    }
    format!("Mesh: {} {}.", mesh.title(), ranges.join(", "))
}

/// Returns the arguments without the mesh and its release.
fn without_mesh(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--mesh" || argument == "--mesh-version" {
            rest.next();
        } else {
            kept.push(argument.clone());
        }
    }
    kept
}

fn mesh_of(rule: &Rule, example: &Example) -> Mesh {
    let named = example
        .arguments
        .iter()
        .skip_while(|argument| *argument != "--mesh");
    let named = named.skip(1).map(String::as_str).next();
    let prefix = rule.id.as_str().split('-').next().unwrap();
    let mut all = mesh::all();
    let found =
        all.find(|mesh| Some(mesh.as_str()) == named || mesh.as_str().replace('-', "") == prefix);
    found.unwrap_or(Mesh::ISTIO)
}

/// Returns the releases of a mesh that meshprobe knows. If the example names a patch release, also those around it.
fn tested_releases(mesh: Mesh, example: &Example) -> Vec<String> {
    let mut releases: Vec<(u16, u16)> = if mesh == Mesh::ISTIO {
        let last = Version::LAST_ISTIO.to_string();
        let (_, minor) = last.split_once('.').unwrap();
        (0..=minor.parse().unwrap())
            .map(|minor| (1, minor))
            .collect()
    } else {
        let setups = mesh::setups(mesh).iter();
        setups
            .flat_map(|setup| setup.releases.iter().copied())
            .collect()
    };
    releases.sort_unstable();
    releases.dedup();
    let mut names: Vec<String> = releases
        .into_iter()
        .map(|(major, minor)| format!("{major}.{minor}"))
        .collect();
    let mut own = example
        .arguments
        .iter()
        .skip_while(|argument| *argument != "--mesh-version");
    if let Some(own) = own.nth(1).filter(|own| own.matches('.').count() == 2) {
        let (minor, patch) = own.rsplit_once('.').unwrap();
        let at = names.iter().position(|name| name == minor).unwrap();
        let last: u16 = patch.parse().unwrap();
        let patches = (0..=last + 1).map(|patch| format!("{minor}.{patch}"));
        names.splice(at..=at, patches);
    }
    names
}

/// Returns the ranges of releases for which the example is reported, such as `since 1.12` or `up to 1.11`.
fn ranges(releases: &[String], reported: &[bool]) -> Vec<String> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(found) = reported
        .get(at..)
        .and_then(|rest| rest.iter().position(|&is| is))
    {
        let first = at + found;
        let rest = reported.get(first..).unwrap();
        let length = rest.iter().position(|&is| !is).unwrap_or(rest.len());
        let last = first + length - 1;
        let (start, end) = (releases.get(first).unwrap(), releases.get(last).unwrap());
        ranges.push(match (first == 0, last + 1 == releases.len()) {
            (true, true) => "(all releases)".to_owned(),
            (false, true) => format!("since {start}"),
            (true, false) => format!("up to {end}"),
            (false, false) if start == end => start.clone(),
            (false, false) => format!("{start} to {end}"),
        });
        at = last + 1;
    }
    ranges
}
