//! Releases that enforce policies differently.

/// Returns whether a release of Cilium, named as in a chart, drops connections from the node to pods that no policy
/// selects if policies are always enforced. This applies to 1.20 and later (issue 48444), and to unreadable releases.
#[must_use]
pub fn drops_unselected(release: Option<&str>) -> bool {
    let numbers = release.unwrap_or_default().trim_start_matches('v');
    let mut numbers = numbers.split('.').map(str::parse::<u16>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 20),
        _ => true,
    }
}
