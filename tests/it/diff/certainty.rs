//! An outcome that the tree does not prove any more is a change.

use super::{cause, changes, report, trees};
use crate::support::manifest::{INJECTED, PROBED, STRICT};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

/// Without the manifest of the namespace, only the policy suggests that the pod is in the mesh.
#[test]
fn an_outcome_that_becomes_an_assumption_is_a_change() {
    let known = [
        ("ns.yaml", INJECTED),
        ("web.yaml", PROBED),
        ("mtls.yaml", STRICT),
    ];
    let assumed = [("web.yaml", PROBED), ("mtls.yaml", STRICT)];
    let run = trees(&known, &assumed).run(&JSON).exits(0);
    let found = changes(&run);
    assert!(
        found.contains(&"changed web livenessProbe: ok -> ok".to_owned()),
        "{found:?}"
    );
    let index = found
        .iter()
        .position(|change| change.contains("web"))
        .unwrap();
    assert!(
        cause(&run, index).starts_with("-before/ns.yaml:"),
        "{}",
        cause(&run, index)
    );
    let report = report(&run);
    let certainty = |state: &str| {
        let value = report.pointer(&format!("/changes/{index}/{state}/certainty"));
        value.unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(
        (&*certainty("before"), &*certainty("after")),
        ("default", "assumed")
    );
    let text = trees(&known, &assumed)
        .run(&["diff", "before", "after"])
        .stdout;
    assert!(text.contains("; assumed, was default"), "{text}");
    // A more certain prediction is not a change of the probe.
    let back = trees(&assumed, &known).run(&JSON).exits(0);
    let back = changes(&back);
    assert!(
        !back.iter().any(|change| change.contains("web")),
        "{back:?}"
    );
}
