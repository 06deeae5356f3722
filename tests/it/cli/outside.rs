//! The content of a repository never makes a run read or write files outside of the repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::manifest::{INJECTED as NAMESPACE, PROBED as WEB};
use crate::support::project::Project;
use crate::support::{PROGRAM, command, run};

const SECRET: &str = "outside-secret";

/// A repository at `repo/` of the project, and a folder `home/` outside of it.
fn repository_next_to_home() -> Project {
    let project = Project::with(&[("repo/.git/x", ""), ("home/.ssh/authorized_keys", SECRET)]);
    fs::remove_dir(project.path(".git")).unwrap();
    project
}

/// Makes git track everything in `repo/`.
fn track(project: &Project) {
    fs::remove_dir_all(project.path("repo/.git")).unwrap();
    project.git("repo", &["init", "--quiet"]);
    project.git("repo", &["add", "--all", "--force"]);
}

fn keys(project: &Project) -> String {
    project.read("home/.ssh/authorized_keys")
}

#[test]
fn a_file_is_not_written_through_a_committed_link_to_a_folder_outside() {
    let project = repository_next_to_home();
    let group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: web, namespace: shop}\n\
                 spec:\n  template: {serviceAccount: web}\n  probe: {failureThreshold: 3, httpGet: {port: 80}}\n";
    project.write("repo/a.yaml", group);
    symlink("../home", project.path("repo/out")).unwrap();
    track(&project);
    let write = ["rewrite", "--vm", "-o", "out", "."];
    let run = project.run_in("repo", &write, "");
    run.exits(2).stderr_contains(
        "invalid value `out` for `-o`: the link `out` leads out of the repository",
    );
    assert!(!project.path("home/mesh.yaml").exists());
    // A link that git does not track belongs to the user.
    fs::remove_file(project.path("repo/out")).unwrap();
    track(&project);
    symlink("../home", project.path("repo/out")).unwrap();
    project.run_in("repo", &write, "").exits(0);
    assert!(project.path("home/mesh.yaml").exists());
}

#[test]
fn a_report_replaces_a_link_and_is_not_written_through_a_linked_folder() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    symlink(
        "../home/.ssh/authorized_keys",
        project.path("repo/junit.xml"),
    )
    .unwrap();
    symlink("../home/.ssh", project.path("repo/rep")).unwrap();
    track(&project);
    project
        .run_in("repo", &["check", "--report", "junit=junit.xml"], "")
        .exits(0);
    assert_eq!(keys(&project), SECRET);
    let report = project.path("repo/junit.xml");
    assert!(fs::symlink_metadata(&report).unwrap().is_file());
    for report in [
        "sarif=rep/authorized_keys",
        "summary=rep/authorized_keys",
        "json=rep/new",
    ] {
        let run = project.run_in("repo", &["check", "--report", report], "");
        run.exits(2)
            .stderr_contains("`rep` leads out of the repository");
    }
    assert_eq!(keys(&project), SECRET);
    assert!(!project.path("home/.ssh/new").exists());
    symlink("../home/.ssh/authorized_keys", project.path("repo/s.md")).unwrap();
    let run = project.run_in("repo", &["check", "--report", "summary=s.md"], "");
    run.exits(2)
        .stderr_contains("a symbolic link is in the way");
    assert_eq!(keys(&project), SECRET);
}

#[test]
fn a_discovered_configuration_cannot_name_context_outside_of_the_repository() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    project.write("home/policy.yaml", format!("a: [ # {SECRET}\n"));
    let spec = |context: &str| {
        format!(
            "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  context: [{context}]\n"
        )
    };
    symlink("../home", project.path("repo/linked")).unwrap();
    for path in [
        "/dev/stdin",
        "../home",
        "../nowhere",
        "linked/policy.yaml",
        "a/../../home/policy.yaml",
        "/etc/shadow",
    ] {
        project.write("repo/.meshprobe.yaml", spec(path));
        let run = project.run_in("repo", &["check"], "the rest of a script\n");
        let run = run
            .exits(2)
            .stderr_contains("it leads out of the repository");
        let run = run.stderr_contains(&format!("cannot read `{path}` for `context`"));
        assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    }
    project.write("repo/.meshprobe.yaml", spec("facts"));
    project.write("repo/facts/ns.yaml", NAMESPACE);
    project.run_in("repo", &["check"], "").exits(0);
    // A configuration that the user names is trusted.
    project.write("repo/.meshprobe.yaml", "");
    project.write("home/own.yaml", spec("../home/.ssh"));
    project
        .run_in("repo", &["check", "--config", "../home/own.yaml"], "")
        .exits(0);
}

#[test]
fn a_discovered_configuration_cannot_name_a_pipe() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    project.write(
        "repo/.meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  context: [pipe]\n",
    );
    project.pipe_file("repo/pipe");
    let run = project.run_in("repo", &["check"], "").exits(2);
    run.stdout_contains("it is a pipe");
}

#[test]
fn a_configuration_that_is_a_link_out_of_the_repository_is_not_read() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    project.write(
        "home/kubeconfig",
        format!("{SECRET}: 1\nversion: {SECRET}\n"),
    );
    symlink("../home/kubeconfig", project.path("repo/.meshprobe.yaml")).unwrap();
    let run = project.run_in("repo", &["check"], "").exits(2);
    let run = run.stderr_contains("cannot read `.meshprobe.yaml`: it leads out of the repository");
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    project
        .run_in("repo", &["check", "--isolated"], "")
        .exits(0);
    // The user names it, but git tracks it: the link belongs to the repository.
    track(&project);
    let run = project.run_in("repo", &["check", "--config", ".meshprobe.yaml"], "");
    let run = run.exits(2).stderr_contains("leads out of the repository");
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
}

#[test]
fn a_tracked_link_out_of_the_repository_is_not_followed_even_if_named() {
    let project = repository_next_to_home();
    project.write("home/web.yaml", format!("{NAMESPACE}---\n{WEB}"));
    symlink("../home/web.yaml", project.path("repo/web.yaml")).unwrap();
    track(&project);
    let before = project.read("home/web.yaml");
    let run = project.run_in("repo", &["rewrite", "--write", "web.yaml"], "");
    run.exits(2)
        .stderr_contains("the link web.yaml leads out of the repository");
    assert_eq!(project.read("home/web.yaml"), before);
    // A link of the user is followed.
    symlink("../home/web.yaml", project.path("repo/own.yaml")).unwrap();
    project
        .run_in("repo", &["rewrite", "--write", "own.yaml"], "")
        .exits(0);
    assert!(project.read("home/web.yaml").contains("/app-health/"));
}

#[test]
fn links_out_of_a_tree_without_a_repository_are_not_followed() {
    let project = repository_next_to_home();
    fs::remove_dir_all(project.path("repo/.git")).unwrap();
    project.write("home/web.yaml", format!("{NAMESPACE}---\n{WEB}"));
    symlink("../home/web.yaml", project.path("repo/web.yaml")).unwrap();
    let before = project.read("home/web.yaml");
    let run = project.run_in("repo", &["rewrite", "--write", "."], "");
    run.exits(0).stderr_contains("it leads out of the tree");
    assert_eq!(project.read("home/web.yaml"), before);
}

/// Runs the program and returns whether it read a file, which the access time of the file shows.
fn reads(project: &Project, arguments: &[&str], stdin: &str, path: &str) -> bool {
    let file = project.path(path);
    fs::write(&file, "metadata: {name: web}\nkind: Pod\napiVersion: v1\n").unwrap();
    let old = fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
    let opened = fs::File::options().write(true).open(&file).unwrap();
    opened.set_times(old).unwrap();
    let mut program = command(Path::new(PROGRAM), &project.path("repo"));
    run(program.args(arguments), stdin.as_bytes());
    fs::metadata(&file).unwrap().accessed().unwrap() != std::time::UNIX_EPOCH
}

#[test]
fn origins_refer_only_to_files_of_the_repository() {
    let project = repository_next_to_home();
    let outside = project.path("home/pod.yaml");
    let outside = outside.to_str().unwrap();
    let annotated = |key: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    {key}: {value:?}\n"
        )
    };
    let texts = [
        annotated("config.kubernetes.io/path", outside),
        annotated("config.kubernetes.io/path", "../home/pod.yaml"),
        annotated("internal.config.kubernetes.io/path", "../home/pod.yaml"),
        annotated("config.kubernetes.io/origin", "path: ../home/pod.yaml\n"),
        format!("# Source: web/templates/../../../home/pod.yaml\n{WEB}"),
    ];
    project.write("repo/web/Chart.yaml", "name: web\n");
    for text in texts {
        assert!(
            !reads(&project, &["check", "-"], &text, "home/pod.yaml"),
            "{text}"
        );
        let items = text.replace('\n', "\n  ");
        let list =
            format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {items}");
        assert!(!reads(&project, &["krm"], &list, "home/pod.yaml"), "{list}");
    }
    // Checks the measurement itself, which requires a file system that records access times.
    let text = annotated("config.kubernetes.io/path", "pod.yaml");
    assert!(reads(&project, &["check", "-"], &text, "repo/pod.yaml"));
}

#[test]
fn the_krm_function_reads_no_context_outside_of_the_repository() {
    let project = repository_next_to_home();
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  \
                apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec:\n    context: [../home]\n";
    let run = project.run_in("repo", &["krm"], list);
    let answered = format!("{}{}", run.stdout, run.stderr);
    assert!(
        answered.contains("it leads out of the repository"),
        "{answered}"
    );
}

#[test]
fn ignore_files_and_charts_that_link_out_of_the_repository_are_not_opened() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    symlink("../home/ignore", project.path("repo/.ignore")).unwrap();
    assert!(!reads(&project, &["check"], "", "home/ignore"));
    let run = project.run_in("repo", &["check"], "").exits(0);
    run.stdout_contains("it leads out of the repository, so nothing is hidden by it");
    fs::remove_file(project.path("repo/.ignore")).unwrap();
    project.write("repo/web/x", "");
    symlink("../../home/Chart.yaml", project.path("repo/web/Chart.yaml")).unwrap();
    let text = format!("# Source: web/templates/pod.yaml\n{WEB}");
    assert!(!reads(&project, &["check", "-"], &text, "home/Chart.yaml"));
    symlink("../home/k.yaml", project.path("repo/kustomization.yaml")).unwrap();
    assert!(!reads(&project, &["check", "a.yaml"], "", "home/k.yaml"));
}

#[test]
fn a_git_file_that_names_a_foreign_folder_is_not_followed() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    fs::remove_dir_all(project.path("repo/.git")).unwrap();
    project.write("repo/.git", "gitdir: ../home/git\n");
    project.write("home/git/commondir", ".\n");
    project.write("home/git/info/exclude", "*.yaml\n");
    project
        .run_in("repo", &["check"], "")
        .stdout_contains("in 1 file");
    // Git writes this back reference for its own worktrees.
    let back = project.path("repo/.git");
    project.write("home/git/gitdir", format!("{}\n", back.display()));
    project
        .run_in("repo", &["check"], "")
        .stdout_contains("so ignore files hide");
}

#[test]
fn an_option_that_is_also_the_name_of_a_file_is_rejected() {
    let project = repository_next_to_home();
    project.write("repo/a.yaml", NAMESPACE);
    for option in [
        "--isolated",
        "--report=json=../home/.ssh/authorized_keys",
        "-q",
    ] {
        project.write(&format!("repo/{option}"), "");
        let run = project.run_in("repo", &["check", option, "a.yaml"], "");
        run.exits(2).stderr_contains(&format!(
            "`{option}` is an option and also the name of a file\nhelp: put `--` before"
        ));
        let after_dashes = ["check", "--", option, "a.yaml"];
        project.run_in("repo", &after_dashes, "");
        assert_eq!(keys(&project), SECRET);
    }
}
