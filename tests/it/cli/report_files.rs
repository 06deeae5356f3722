//! Where reports are written, and their content without findings.

use std::fs;

use serde_json::Value;

use crate::support::project::Project;

/// An invalid manifest, which causes a finding.
const BROKEN: &str = "apiVersion: v1\nkind: [\n";

const GOOD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web}]}\n";

const LIMIT: u64 = 1024 * 1024;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_misspelled_format_is_reported_with_a_suggestion() {
    let project = Project::with(&[("a.yaml", BROKEN)]);
    for (given, suggestion) in [("sarfi", "sarif"), ("JSON", "json"), ("gitHub", "github")] {
        let report = format!("{given}=x");
        let run = project.run(&["check", "--report", &report]).exits(2);
        run.stderr_contains(&format!(
            "unknown format `{given}`; did you mean `{suggestion}`?"
        ));
    }
    assert!(!project.path("x").exists());
}

/// Two reports with the same file would overwrite each other.
#[test]
fn two_reports_cannot_have_the_same_file() {
    let project = Project::with(&[("sub/a.yaml", BROKEN), ("there.sarif", "")]);
    let whole = project.path("there.sarif");
    let whole = whole.to_str().unwrap();
    for (first, second) in [
        ("x", "./x"),
        ("x", "sub/../x"),
        ("sub/x", "./sub/x"),
        ("there.sarif", whole),
        ("there.sarif", "sub/../there.sarif"),
    ] {
        let reports = [format!("json={first}"), format!("sarif={second}")];
        let run = project.run(&["check", "--report", &reports[0], "--report", &reports[1]]);
        run.exits(2)
            .stderr_contains(&format!("error: two reports have the same file `{second}`"));
    }
    assert!(!project.path("x").exists());
    assert_eq!(project.read("there.sarif"), "");
    // Files with the same name in different folders are different files.
    let reports = ["--report", "json=x", "--report", "sarif=sub/x"];
    project
        .run(&[&["check", "sub/a.yaml"], &reports[..]].concat())
        .exits(1);
    assert!(project.read("sub/x").contains("2.1.0"));
}

#[cfg(unix)]
#[test]
fn two_reports_cannot_share_a_file_through_a_link_but_can_share_a_device() {
    let project = Project::with(&[("a.yaml", BROKEN), ("there", "")]);
    std::os::unix::fs::symlink("there", project.path("link")).unwrap();
    let named_twice = ["--report", "json=there", "--report", "sarif=link"];
    project
        .run(&[&["check"], &named_twice[..]].concat())
        .exits(2)
        .stderr_contains("two reports have the same file `link`");
    let nowhere = ["--report", "json=/dev/null", "--report", "sarif=/dev/null"];
    let run = project.run(&[&["check"], &nowhere[..]].concat()).exits(1);
    assert_eq!(run.stderr, "");
    // The link is replaced, and its target is not changed.
    project.run(&["check", "--report", "json=link"]).exits(1);
    assert_eq!(json(&project.read("link"))["version"], 1);
    assert_eq!(project.read("there"), "");
}

#[cfg(unix)]
#[test]
fn a_read_only_report_is_not_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::with(&[("a.yaml", BROKEN), ("kept.json", "kept")]);
    fs::set_permissions(project.path("kept.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let reports = ["--report", "json=kept.json", "--report", "gitlab=other"];
    project
        .run(&[&["check"], &reports[..]].concat())
        .exits(2)
        .stderr_contains("error: cannot write `kept.json`: it is read-only");
    assert_eq!(project.read("kept.json"), "kept");
    assert!(project.path("other").is_file());
}

/// GitHub does not show a summary that is too long.
#[test]
fn a_full_summary_is_not_changed() {
    let project = Project::with(&[("a.yaml", BROKEN)]);
    for written in [LIMIT - 1000, LIMIT - 100, LIMIT, LIMIT + 1] {
        project.write("summary.md", "x".repeat(usize::try_from(written).unwrap()));
        project
            .run(&["check", "--report", "summary=summary.md"])
            .exits(1);
        let size = fs::metadata(project.path("summary.md")).unwrap().len();
        assert_eq!(size, written);
    }
    project.write("summary.md", "x".repeat(1024 * 1024 - 1400));
    project
        .run(&["check", "--report", "summary=summary.md"])
        .exits(1);
    let text = project.read("summary.md");
    assert!(text.contains("**1 error**") && text.len() < 1024 * 1024);
}

/// Other tools read these files after every run, including runs without findings.
#[test]
fn reports_without_findings_are_complete() {
    let project = Project::with(&[("a.yaml", GOOD)]);
    let text = |format: &str| {
        let run = project.run(&["check", "--output-format", format]).exits(0);
        assert_eq!(run.stderr, "", "{format}");
        run.stdout
    };
    assert_eq!(text("github"), "");
    assert_eq!(text("gitlab"), "[]\n");
    assert_eq!(
        text("junit"),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"meshprobe\" tests=\"1\" failures=\"0\" errors=\"0\">\n  \
         <testsuite name=\"a.yaml\" file=\"a.yaml\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">\n    \
         <testcase name=\"no findings\" classname=\"a.yaml\"/>\n  </testsuite>\n</testsuites>\n"
    );
    assert_eq!(
        text("summary"),
        "## meshprobe\n\nNo findings in 1 file (1 workload, 0 handlers).\n"
    );
    let report = json(&text("sarif"));
    let run = &report["runs"][0];
    assert_eq!(run["results"], Value::Array(Vec::new()));
    assert_eq!(run["tool"]["driver"]["rules"], Value::Array(Vec::new()));
    assert_eq!(json(&text("json"))["findings"], Value::Array(Vec::new()));
}

/// The next run does not read the reports of a run as manifests.
#[test]
fn reports_in_the_tree_change_nothing() {
    let project = Project::with(&[("a.yaml", BROKEN)]);
    let reports = [
        "json=j.json",
        "sarif=s.json",
        "gitlab=g.json",
        "junit=x.xml",
    ];
    let mut arguments = vec!["check", "--quiet"];
    arguments.extend(reports.iter().flat_map(|report| ["--report", report]));
    let first = project.run(&arguments).exits(1);
    let second = project.run(&arguments).exits(1);
    assert_eq!(first.stdout, second.stdout);
    let findings = json(&project.read("j.json"))["findings"].clone();
    assert_eq!(findings.as_array().unwrap().len(), 1, "{findings}");
}

/// The runner looks the file up by its literal name.
#[cfg(unix)]
#[test]
fn a_github_annotation_contains_the_literal_file_name() {
    let project = Project::with(&[("a\nb%,c:d\t\r\u{1b}.yaml", BROKEN)]);
    let run = project
        .run(&["check", "--output-format", "github"])
        .exits(1);
    let start = "::error file=a%0Ab%25%2Cc%3Ad\t%0D\\u{1b}.yaml,line=2,";
    assert!(run.stdout.starts_with(start), "{}", run.stdout);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
}

/// The paths of the workspace and of the files may contain links, independent of each other.
#[cfg(unix)]
#[test]
fn paths_through_links_are_relative_to_the_root() {
    let project = Project::with(&[("real/apps/a.yaml", BROKEN)]);
    std::os::unix::fs::symlink("real", project.path("link")).unwrap();
    let whole = |path: &str| project.path(path).to_str().unwrap().to_owned();
    for (directory, root, path) in [
        ("", "link", "link/apps"),
        ("", "link", "real/apps"),
        ("", "real", "link/apps/a.yaml"),
        ("link/apps", "..", "."),
        ("", &whole("link"), &whole("link/apps")),
        ("link", &whole("real"), &whole("link/apps")),
        ("real/apps", &whole("link"), "a.yaml"),
    ] {
        let arguments = ["check", "--report-root", root, "--output-format"];
        for format in ["sarif", "gitlab"] {
            let arguments = [&arguments[..], &[format, path]].concat();
            let report = json(&project.run_in(directory, &arguments, "").exits(1).stdout);
            let found = match format {
                "sarif" => "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri",
                _ => "/0/location/path",
            };
            assert_eq!(
                report.pointer(found).unwrap(),
                "apps/a.yaml",
                "{directory}, {root}, {path}, {format}"
            );
        }
    }
}
