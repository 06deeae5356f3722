//! The upgrade check: a change between two releases of Istio is explained by what a release changed.

use super::{compare_releases, report};
use crate::support::fixture;

/// Returns the texts of the causes of all changes of the fixtures between two releases.
fn causes(from: &str, to: &str) -> Vec<String> {
    let injected = [
        "--isolated",
        "--override",
        "injection=all",
        "istio",
        "rules",
    ];
    let run = compare_releases(&fixture(""), from, to, &injected);
    let changes = report(&run);
    let changes = changes.pointer("/changes").unwrap().as_array().unwrap();
    let cause = |change: &serde_json::Value| {
        let message = change.pointer("/cause/message").unwrap().as_str().unwrap();
        message.to_owned()
    };
    changes.iter().map(cause).collect()
}

#[test]
fn every_change_between_two_releases_names_a_release() {
    for (from, to, least, back) in [
        ("1.30", "1.31", 1, true),
        ("1.26", "1.29", 60, false),
        ("1.18", "1.31", 140, true),
        ("1.10", "1.31", 180, false),
        ("1.6", "1.7", 400, true),
    ] {
        let causes = causes(from, to);
        assert!(causes.len() >= least, "{from} {to}: {}", causes.len());
        for cause in &causes {
            assert!(cause.starts_with("since Istio 1."), "{from} {to}: {cause}");
        }
        // Each run takes seconds. `release_pairs` compares more pairs in both directions.
        if back {
            assert_eq!(self::causes(to, from).len(), causes.len());
        }
    }
}
