//! A release without a patch level represents its newest patch release: a note names it where it matters.

use super::release_facts::{AMBIENT, ENI, HTTP, host_header, host_network_pod, pod};
use super::{changes, compare_releases, report};
use crate::support::Run;
use crate::support::manifest::{INJECTED, PROBED, join};
use crate::support::project::Project;

fn compare(manifest: &str, from: &str, to: &str) -> Run {
    let project = Project::with(&[("all.yaml", manifest)]);
    compare_releases(&project.path(""), from, to, &[])
}

fn quantity() -> String {
    let annotated = pod(", annotations: {sidecar.istio.io/proxyCPU: ' 100m'}", HTTP);
    join(&[INJECTED, &annotated])
}

#[test]
fn a_change_that_only_newer_patch_releases_have_is_named() {
    let run = compare(&quantity(), "1.28", "1.29").exits(0);
    assert_eq!(changes(&run), [""; 0]);
    let note = "`1.28` represents the newest patch release of Istio 1.28, on which shop/Pod/web depends: since 1.28.4, the \
                injector refuses pods whose annotations contain invalid quantities (istio#58928); to compare an earlier \
                one, name it, such as `1.28.3`";
    assert!(
        run.stderr.contains(&format!("note: {note}")),
        "{}",
        run.stderr
    );
    assert_eq!(report(&run).pointer("/notes/0").unwrap(), note);
    let run = compare(&quantity(), "1.28.3", "1.29").exits(1);
    assert_eq!(
        changes(&run),
        ["regression web livenessProbe: ok -> refused"]
    );
    assert!(!run.stderr.contains("note:"), "{}", run.stderr);
}

#[test]
fn every_change_with_patch_releases_has_a_note() {
    let eni = join(&[AMBIENT, ENI, &pod(", labels: {app: web}", HTTP)]);
    for (manifest, release, patch) in [
        (quantity(), "1.27", "since 1.27.6"),
        (quantity(), "1.28", "since 1.28.4"),
        (host_header(), "1.18", "since 1.18.3"),
        (host_network_pod(), "1.22", "since 1.22.2"),
        (host_network_pod(), "1.29", "since 1.29.7"),
        (host_network_pod(), "1.30", "since 1.30.4"),
        (eni.clone(), "1.28", "since 1.28.7"),
        (eni, "1.29", "since 1.29.3"),
    ] {
        let run = compare(&manifest, release, "1.31");
        assert!(run.stderr.contains(patch), "{release}: {}", run.stderr);
        let run = compare(&manifest, "1.10", release);
        assert!(run.stderr.contains(patch), "{release}: {}", run.stderr);
    }
}

#[test]
fn releases_whose_patch_level_does_not_matter_have_no_note() {
    let plain = join(&[INJECTED, PROBED]);
    for (manifest, from, to) in [
        (&plain, "1.28", "1.29"),
        (&plain, "1.18", "1.31"),
        (&quantity(), "1.26", "1.30"),
        (&quantity(), "1.28.4", "1.31"),
    ] {
        let run = compare(manifest, from, to);
        assert!(!run.stderr.contains("note:"), "{from} {to}: {}", run.stderr);
    }
}

#[test]
fn the_formats_for_programs_contain_notes() {
    let project = Project::with(&[("all.yaml", &quantity())]);
    let facts = ["--from", "mesh-version=1.28", "--to", "mesh-version=1.29"];
    for format in ["json", "sarif", "github", "markdown", "html"] {
        let start = ["diff", "--quiet", "--output-format", format];
        let run = project.run(&[&start[..], &facts].concat()).exits(0);
        assert!(
            run.stdout.contains("newest patch release"),
            "{format}: {}",
            run.stdout
        );
        assert_eq!(run.stderr, "", "{format}");
    }
}
