//! Ignore files do not apply to what git tracks, and every summary counts the findings left out.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::manifest::{INJECTED, STRICT, join};
use crate::support::project::Project;
use crate::support::{PROGRAM, command, run};

const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}
spec:
  containers:
  - name: web
    livenessProbe: {httpGet: {path: /, port: 8080}}
";

/// A repository whose only finding is in `apps/web.yaml`, all of it tracked.
fn project() -> Project {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("apps/web.yaml", WEB),
        ("apps/values.yaml", "a: 1\n"),
    ]);
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project
}

/// Runs `check`, which must find the fault in `apps/web.yaml`.
fn finds_fault(project: &Project, arguments: &[&str]) {
    let run = project.run(&[&["check"], arguments].concat()).exits(1);
    run.stdout_contains("strict-probe-not-rewritten");
}

const IGNORES: [(&str, &str); 6] = [
    (".ignore", "apps/"),
    (".gitignore", "web.yaml"),
    (".gitignore", "*"),
    ("apps/.ignore", "*.yaml"),
    ("apps/.gitignore", "*"),
    (".git/info/exclude", "/apps/web.yaml"),
];

#[test]
fn ignore_files_do_not_apply_to_tracked_files() {
    for (file, line) in IGNORES {
        let project = project();
        project.write(file, format!("# not much\n{line}\n"));
        finds_fault(&project, &[]);
        finds_fault(&project, &["apps"]);
        // The facts outside of the path are tracked as well.
        finds_fault(&project, &["apps/web.yaml"]);
        let predicted = project.run(&["predict", "."]).exits(0);
        predicted.stdout_contains("Pod/web");
        // What the command line excludes is visible there.
        project.run(&["check", "--exclude", "apps/"]).exits(0);
    }
}

#[test]
fn untracked_files_may_be_hidden() {
    let project = project();
    project.write("build/web.yaml", WEB.replace("name: web", "name: out"));
    project.write("apps/new.yaml", WEB.replace("name: web", "name: new"));
    let names = |project: &Project| {
        let run = project
            .run(&["check", "--output-format", "concise"])
            .exits(1);
        ["apps/web.yaml", "build/web.yaml", "apps/new.yaml"].map(|name| run.stdout.contains(name))
    };
    assert_eq!(names(&project), [true; 3]);
    project.write(".gitignore", "build/\napps/\n");
    assert_eq!(names(&project), [true, false, false]);
    // A file is tracked as soon as it is announced.
    project.git("", &["add", "--force", "--intent-to-add", "apps/new.yaml"]);
    assert_eq!(names(&project), [true, false, true]);
    project.git(
        "",
        &["rm", "--quiet", "--cached", "--force", "apps/web.yaml"],
    );
    assert_eq!(names(&project), [false, false, true]);
    let run = project.run(&["check", "--no-ignore", "--output-format", "concise"]);
    assert!(run.exits(1).stdout.contains("build/web.yaml"));
}

#[test]
fn every_kind_of_repository_is_read() {
    let ignore = |project: &Project, folder: &str| {
        project.write(&format!("{folder}.gitignore"), "apps/\n");
    };
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let commit = |project: &Project| {
        project.git(
            "",
            &[&author[..], &["commit", "--quiet", "-m", "x"]].concat(),
        );
    };
    for version in ["2", "3", "4"] {
        let project = project();
        project.git("", &["update-index", "--index-version", version]);
        ignore(&project, "");
        finds_fault(&project, &[]);
    }
    let split = project();
    split.git("", &["update-index", "--split-index"]);
    ignore(&split, "");
    finds_fault(&split, &[]);
    let sha256 = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("apps/web.yaml", WEB),
    ]);
    fs::remove_dir(sha256.path(".git")).unwrap();
    sha256.git("", &["init", "--quiet", "--object-format=sha256"]);
    sha256.git("", &["add", "--all"]);
    ignore(&sha256, "");
    finds_fault(&sha256, &[]);
    commit(&sha256);
    sha256.git("", &["worktree", "add", "--quiet", "--detach", "tree"]);
    ignore(&sha256, "tree/");
    let run = sha256.run_in("tree", &["check"], "").exits(1);
    run.stdout_contains("strict-probe-not-rewritten");
    // A submodule has an index of its own, and is itself tracked by the outer repository.
    let outer = Project::with(&[("README.md", "")]);
    outer.git("", &["init", "--quiet"]);
    let inner = project();
    commit(&inner);
    let url = inner.path("").to_string_lossy().into_owned();
    let file = ["-c", "protocol.file.allow=always"];
    outer.git(
        "",
        &[&file[..], &["submodule", "--quiet", "add", &url, "sub"]].concat(),
    );
    outer.write(".ignore", "sub\n");
    outer.write("sub/.gitignore", "*\n");
    finds_fault(&outer, &[]);
    finds_fault(&outer, &["sub"]);
}

#[test]
fn nothing_is_hidden_if_git_cannot_tell_what_it_tracks() {
    let project = project();
    project.write(".gitignore", "apps/\n");
    for (name, value, why) in [
        ("PATH", "/nonexistent", "`git` is not on the PATH"),
        (
            "GIT_TEST_ASSUME_DIFFERENT_OWNER",
            "1",
            "it belongs to another user",
        ),
    ] {
        let mut program = command(PROGRAM.as_ref(), &project.path(""));
        let run = run(program.arg("check").env(name, value), b"").exits(1);
        let run = run.stdout_contains("strict-probe-not-rewritten");
        run.stdout_contains(&format!(
            "cannot read `.git`: {why}, so ignore files hide nothing"
        ));
    }
    // A working tree whose repository is somewhere else, as in a container.
    fs::remove_dir_all(project.path(".git")).unwrap();
    project.write(".git", "gitdir: /nonexistent/.git/worktrees/x\n");
    finds_fault(&project, &[]);
    // Without a repository, there is nothing that git could track.
    fs::remove_file(project.path(".git")).unwrap();
    project.run(&["check"]).exits(0);
}

#[test]
fn hidden_facts_are_read_by_the_function() {
    let project = project();
    project.write(".ignore", "mesh.yaml\n");
    let pod: String = WEB.lines().map(|line| format!("  {line}\n")).collect();
    let pod = pod.replacen("  apiVersion", "- apiVersion", 1);
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{pod}functionConfig:\n  \
         apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec:\n    context: [.]\n"
    );
    let run = project.run_in("", &["krm"], &list);
    let printed = run.stdout + &run.stderr;
    assert!(printed.contains("strict-probe-not-rewritten"), "{printed}");
}

/// Opening a pipe in place of a tracked manifest would block the run.
#[test]
fn a_tracked_file_that_is_a_pipe_or_a_link_is_read_as_usual() {
    let project = project();
    project.write(".gitignore", "apps/\n");
    fs::remove_file(project.path("apps/web.yaml")).unwrap();
    project.pipe_file("apps/web.yaml");
    let run = project.run(&["check"]).exits(0);
    run.stdout_contains("cannot read `apps/web.yaml`: it is a pipe");
    fs::remove_file(project.path("apps/web.yaml")).unwrap();
    project.write("web.txt", WEB);
    symlink("../web.txt", project.path("apps/web.yaml")).unwrap();
    finds_fault(&project, &[]);
}

#[test]
fn a_manifest_that_is_too_large_fails_a_gate() {
    let project = project();
    let large = fs::File::create(project.path("apps/large.yaml")).unwrap();
    large.set_len(17 << 20).unwrap();
    let options = [
        "check",
        "--fail-on",
        "warning",
        "apps/large.yaml",
        "mesh.yaml",
    ];
    project.run(&options).exits(2);
    fs::remove_file(project.path("apps/web.yaml")).unwrap();
    let run = project.run(&["check", "--fail-on", "warning"]).exits(1);
    run.stdout_contains("warning[file-left-out]");
}

#[test]
fn every_summary_counts_the_findings_left_out() {
    let project = project();
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  rules:\n    \
         strict-probe-not-rewritten: ignore\n",
    );
    let reports = ["json", "sarif", "junit", "summary"];
    let mut arguments = vec!["check".to_owned(), "--fail-on=error".to_owned()];
    arguments.extend(reports.map(|format| format!("--report={format}={format}.out")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = project.run(&arguments).exits(0);
    run.stdout_contains("Not shown: 1 finding ignored by the settings.\n");
    let json = project.read("json.out");
    assert!(json.contains("\"ignored\": 1,"), "{json}");
    let sarif = project.read("sarif.out");
    assert!(sarif.contains("\"ignored\": 1,"), "{sarif}");
    let sentence = "Not shown: 1 finding ignored by the settings.";
    let junit = project.read("junit.out");
    assert!(
        junit.contains(&format!("<skipped message=\"{sentence}\"/>")),
        "{junit}"
    );
    let summary = project.read("summary.out");
    assert!(summary.contains(sentence), "{summary}");
}

/// Git tracks files in the folders of other version control systems.
#[test]
fn a_manifest_in_a_folder_of_another_version_control_system_is_checked() {
    for folder in [".hg", ".jj", ".svn"] {
        let project = project();
        let moved = project.path(folder);
        std::fs::rename(project.path("apps"), moved).unwrap();
        project
            .run(&["check", "--fail-on", "warning"])
            .exits(1)
            .stdout_contains("strict-probe-not-rewritten");
    }
}

#[test]
fn a_folder_named_like_a_temporary_file_is_not_hidden() {
    let project = project();
    let folder = project.path(".meshprobe-x.tmp");
    std::fs::rename(project.path("apps"), folder).unwrap();
    project.run(&["check"]).exits(1);
}

#[test]
fn a_changed_severity_is_counted() {
    let project = project();
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  rules: {strict-probe-not-rewritten: note}\n",
    );
    let run = project.run(&["check"]).exits(0);
    run.stdout_contains("Severity changed by the settings: 1 finding.\n");
    let run = project.run(&["check", "--output-format", "json"]).exits(0);
    run.stdout_contains("\"severity_changed\": 1");
}
