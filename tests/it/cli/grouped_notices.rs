//! Notices that name several files at once.

use super::fixes::WEB;
use crate::support::project::Project;

#[test]
fn files_that_exceed_the_memory_limit_are_one_finding() {
    let project = Project::new();
    for at in 0..6 {
        project.write(&format!("f{at}.yaml"), format!("{WEB}---\n").repeat(400));
    }
    let run = project.run(&[
        "check",
        "--output-format",
        "concise",
        "--max-parsed",
        "1KiB",
    ]);
    let found: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("[file-left-out]"))
        .collect();
    assert_eq!(found.len(), 1, "{}", run.stdout);
    assert!(found[0].contains("files with"), "{}", found[0]);
    assert!(
        found[0].contains("`f0.yaml`, `f1.yaml`, `f2.yaml` and 3 more"),
        "{}",
        found[0]
    );
}

#[test]
fn encrypted_files_are_one_note() {
    let project = Project::with(&[("web.yaml", WEB)]);
    for at in 0..5 {
        project.write(&format!("s{at}.yaml"), b"CHARTMART-ENCRYPTED\xff\xfe\x80");
    }
    project.write("broken.yaml", b"a: b\xff\n");
    let run = project.run(&["check", "--output-format", "concise"]);
    let found: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("[not-utf8]"))
        .collect();
    assert_eq!(found.len(), 2, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("`s0.yaml`, `s1.yaml`, `s2.yaml` and 2 more; they are encrypted")
    );
}
