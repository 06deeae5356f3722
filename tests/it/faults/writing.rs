//! Faults while files are written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use super::page::{self, Row};
use super::scene::{
    NAMESPACE, after, as_user, deployment, for_user, held, is_root, mode, rewrite, row, shell,
    shop, started, tree,
};
use crate::support::Run;
use crate::support::project::Project;

const WRITE: [&str; 4] = ["rewrite", "--write", "--quiet", "."];

fn shop_with(prepare: impl FnOnce(&Project)) -> Project {
    let project = shop();
    prepare(&project);
    project
}

fn report(to: &'static str) -> impl Fn(&Project) -> Run {
    move |project| project.run(&["check", "--quiet", "--report", to])
}

/// Prepares the folder as [`shop_with`] does, and makes git track all files.
fn tracked(prepare: impl FnOnce(&Project)) -> Project {
    let project = shop_with(prepare);
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project
}

#[test]
fn writing() {
    let machine = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: mine}\nspec: {template: {}, probe: {httpGet: {port: 80}}}\n";
    page::check(
        "Writing",
        &[
            row("no fault", &shop(), 0, "rewritten.", |project| {
                project.run(&["rewrite", "--write", "."])
            }),
            row(
                "a read-only file",
                &for_user(shop_with(|project| mode(&project.path("web.yaml"), 0o444))),
                2,
                "cannot write",
                |project| as_user(project, &WRITE),
            ),
            row(
                "a read-only folder",
                &for_user(shop_with(|project| mode(&project.path(""), 0o555))),
                2,
                "cannot write",
                |project| {
                    let run = as_user(project, &WRITE);
                    mode(&project.path(""), 0o755);
                    run
                },
            ),
            row(
                "a file changed by another program between reading and writing",
                &shop(),
                2,
                "cannot write",
                |project| {
                    held(project, &WRITE, "zz.pipe", || {
                        project.write("web.yaml", "mine: 1\n")
                    })
                },
            ),
            row(
                "a file removed between reading and writing",
                &shop(),
                2,
                "cannot write",
                |project| {
                    held(project, &WRITE, "zz.pipe", || {
                        fs::remove_file(project.path("web.yaml")).unwrap()
                    })
                },
            ),
            row(
                "a file replaced by a pipe between reading and writing",
                &shop(),
                2,
                "cannot write",
                |project| {
                    held(project, &WRITE, "zz.pipe", || {
                        fs::remove_file(project.path("web.yaml")).unwrap();
                        project.pipe_file("web.yaml");
                    })
                },
            ),
            row(
                "the same text written by another run in the meantime",
                &shop(),
                0,
                "",
                |project| {
                    held(project, &WRITE, "zz.pipe", || {
                        assert_eq!(rewrite(project).code, 0)
                    })
                },
            ),
            row(
                "files may not grow (`ulimit -f 0`)",
                &shop(),
                2,
                "cannot write",
                |project| after("trap '' XFSZ; ulimit -f 0", project, &WRITE, b""),
            ),
            row(
                "the same, and SIGXFSZ ends the run",
                &shop(),
                153,
                "",
                |project| {
                    shell(
                        project,
                        "exec 2> /dev/null; ulimit -c 0; (ulimit -f 0; exec \"$0\" rewrite --write --quiet .); exit $?",
                    )
                },
            ),
            full_disk(),
            row(
                "a temporary file of a killed run",
                &shop_with(|project| project.write(".meshprobe-abc123.tmp", deployment("half"))),
                0,
                "",
                rewrite,
            ),
            interrupted("a run that is killed while it writes (SIGKILL)", "KILL", 9),
            interrupted("Ctrl-C while it writes (SIGINT)", "INT", 2),
            simultaneous_runs(),
            row(
                "a file that is a link",
                &shop_with(|project| {
                    fs::rename(project.path("web.yaml"), project.path("real.txt")).unwrap();
                    symlink("real.txt", project.path("web.yaml")).unwrap();
                }),
                0,
                "",
                rewrite,
            ),
            row(
                "a file with a second hard link, which keeps the old text",
                &shop_with(|project| {
                    fs::hard_link(project.path("web.yaml"), project.path("other.txt")).unwrap()
                }),
                0,
                "",
                rewrite,
            ),
            row(
                "`--vm -o` onto a file that was read",
                &shop_with(|project| project.write("mesh.yaml", machine)),
                2,
                "-o",
                |project| project.run(&["rewrite", "--vm", "--quiet", "-o", ".", "."]),
            ),
            row(
                "a report onto a file that was read",
                &shop(),
                2,
                "cannot write",
                report("json=web.yaml"),
            ),
            row(
                "a summary onto a file that was read",
                &shop(),
                2,
                "cannot write",
                report("summary=./web.yaml"),
            ),
            row(
                "a report onto a link, which is replaced",
                &shop_with(|project| {
                    project.write("real.json", "{}");
                    symlink("real.json", project.path("report.json")).unwrap();
                }),
                0,
                "",
                report("json=report.json"),
            ),
            row(
                "a report through a tracked link out of the repository",
                &tracked(|project| symlink("..", project.path("out")).unwrap()),
                2,
                "cannot write",
                report("json=out/report.json"),
            ),
            row(
                "a report onto a full device",
                &shop(),
                2,
                "cannot write",
                report("sarif=/dev/full"),
            ),
            row(
                "a summary onto a full device",
                &shop(),
                2,
                "cannot write",
                report("summary=/dev/full"),
            ),
            row(
                "a report into a folder that does not exist",
                &shop(),
                2,
                "cannot write",
                report("junit=nowhere/x.xml"),
            ),
            row(
                "a report onto a folder",
                &shop_with(|project| project.write("out/x", "")),
                2,
                "cannot write",
                report("gitlab=out"),
            ),
            row(
                "a report onto a read-only file",
                &for_user(shop_with(|project| {
                    project.write("report.json", "{}");
                    mode(&project.path("report.json"), 0o444);
                })),
                2,
                "cannot write",
                |project| {
                    as_user(
                        project,
                        &["check", "--quiet", "--report", "json=report.json"],
                    )
                },
            ),
            row(
                "a report that does not fit on the disk",
                &shop_with(|project| project.write("report.json", "{}")),
                2,
                "cannot write",
                |project| {
                    after(
                        "trap '' XFSZ; ulimit -f 0",
                        project,
                        &["check", "--quiet", "--report", "json=report.json"],
                        b"",
                    )
                },
            ),
        ],
    );
}

#[test]
fn a_file_keeps_its_mode_and_new_files_follow_the_umask() {
    let project = shop();
    let path = project.path("web.yaml");
    for kept in [0o640, 0o600, 0o755, 0o666] {
        project.write("web.yaml", deployment("web"));
        mode(&path, kept);
        let run = after("umask 077", &project, &WRITE, b"");
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_ne!(project.read("web.yaml"), deployment("web"));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            kept
        );
    }
    // The umask decides the mode of a new file.
    for (mask, mode) in [("077", 0o600), ("022", 0o644), ("002", 0o664)] {
        let report = format!("json={mask}.json");
        let run = after(
            &format!("umask {mask}"),
            &project,
            &["check", "--quiet", "--report", &report],
            b"",
        );
        assert_eq!(run.code, 0);
        let metadata = fs::metadata(project.path(&format!("{mask}.json"))).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn a_file_keeps_its_owner_and_group() {
    let project = shop();
    let path = project.path("web.yaml");
    let metadata = fs::metadata(&path).unwrap();
    if !is_root() {
        // Only root can change the owner of a file: for other users, owner and group must at least not change.
        assert_eq!(rewrite(&project).code, 0);
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.gid()), (metadata.uid(), metadata.gid()));
        eprintln!("skipped: files of other owners, as only root can make them");
        return;
    }
    // A folder whose group is inherited by new files.
    chown(project.path(""), Some(0), Some(4242)).unwrap();
    mode(&project.path(""), 0o2775);
    chown(&path, Some(1234), Some(4321)).unwrap();
    mode(&path, 0o664);
    assert_eq!(rewrite(&project).code, 0);
    let after = fs::metadata(&path).unwrap();
    assert_ne!(project.read("web.yaml"), deployment("web"));
    assert_eq!(
        (after.uid(), after.gid(), after.mode() & 0o7777),
        (1234, 4321, 0o664)
    );
    // A new report belongs to the group of the folder.
    assert_eq!(
        project
            .run(&["check", "--quiet", "--report", "json=r.json"])
            .code,
        0
    );
    assert_eq!(fs::metadata(project.path("r.json")).unwrap().gid(), 4242);
}

/// A tree of many files, and the same tree after a complete run.
fn many_files() -> (Project, BTreeMap<String, String>) {
    let create = || {
        let project = Project::with(&[("ns.yaml", NAMESPACE)]);
        for number in 0..50 {
            project.write(
                &format!("{number}.yaml"),
                deployment(&format!("web{number}")),
            );
        }
        project
    };
    let whole = create();
    assert_eq!(rewrite(&whole).code, 0);
    (create(), tree(&whole.path("")))
}

/// Ends a run after it has written some files; each file must be the old or the new one.
fn interrupted(fault: &'static str, signal: &str, number: i32) -> Row {
    for files in [1, 5, 20] {
        let (project, whole) = many_files();
        let before = tree(&project.path(""));
        let mut child = started(&project, &WRITE);
        let id = child.id().to_string();
        let written = || {
            let now = tree(&project.path(""));
            now.iter()
                .filter(|(name, text)| before.get(*name).is_some_and(|old| old != *text))
                .count()
        };
        while written() < files && child.try_wait().unwrap().is_none() {}
        let sent = Command::new("kill")
            .args([format!("-{signal}"), id])
            .output()
            .unwrap();
        let status = child.wait().unwrap();
        // The run may have ended before the signal arrived.
        assert!(
            status.signal() == Some(number) || status.success(),
            "{status:?} {sent:?}"
        );
        let now = tree(&project.path(""));
        for (name, text) in &now {
            let known = [before.get(name), whole.get(name)].contains(&Some(text));
            assert!(known || name == ".meshprobe-….tmp", "{name}: {text}");
        }
        assert!(whole.keys().all(|name| now.contains_key(name)));
        // The next run completes the rewrite, and removes the temporary files.
        assert_eq!(rewrite(&project).code, 0);
        assert_eq!(tree(&project.path("")), whole);
    }
    Row::Shown {
        fault,
        seen: String::new(),
        exit: format!("signal {number}"),
        left: "each file is the old or the complete new one; possibly new: `.meshprobe-….tmp`, which the next run removes".to_owned(),
    }
}

/// Starts two runs on one tree: both succeed, and the result is that of one run.
fn simultaneous_runs() -> Row {
    for _ in 0..2 {
        let (project, whole) = many_files();
        let runs = [started(&project, &WRITE), started(&project, &WRITE)];
        for child in runs {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        assert_eq!(tree(&project.path("")), whole);
    }
    Row::Shown {
        fault: "two simultaneous runs on one tree",
        seen: String::new(),
        exit: "0 and 0".to_owned(),
        left: "the result of one run".to_owned(),
    }
}

/// Uses a small file system, which requires permission to mount one.
fn full_disk() -> Row {
    let fault = "a full disk";
    let project = shop();
    let script = "mount -t tmpfs -o size=64k none disk && cp ns.yaml web.yaml disk && mkdir disk/.git && cd disk && \
                  { cat /dev/zero > filler 2> /dev/null || :; } && \"$0\" rewrite --write --quiet .; code=$?; cmp web.yaml ../web.yaml && ls -A | grep -c meshprobe >&2; exit $code";
    fs::create_dir(project.path("disk")).unwrap();
    fs::write(project.path(".git/script"), script).unwrap();
    let commands = ["unshare -m", "unshare -Urm", "sudo -n unshare -m"];
    let mount = commands.iter().find(|mount| {
        let tried = shell(
            &project,
            &format!("{mount} sh -c 'mount -t tmpfs none disk' 2> /dev/null"),
        );
        tried.code == 0
    });
    let Some(mount) = mount else {
        eprintln!(
            "skipped: {fault}: mounting a file system is not permitted (`ulimit -f` replaces it)"
        );
        return Row::Skipped(fault);
    };
    row(fault, &project, 2, "cannot write", |project| {
        let run = shell(
            project,
            &format!("{mount} sh .git/script \"$0\"").replace(
                "sh .git/script \"$0\"",
                "sh -c \"$(cat .git/script)\" \"$0\"",
            ),
        );
        // No temporary file remains.
        assert_eq!(run.stderr.lines().last(), Some("0"), "{}", run.stderr);
        run
    })
}

#[test]
fn a_file_without_write_permission_for_the_user_is_not_replaced() {
    if !is_root() {
        eprintln!("skipped: files of other owners, as only root can make them");
        return;
    }
    let project = for_user(shop());
    let path = project.path("web.yaml");
    mode(&project.path(""), 0o777);
    let state = || {
        let metadata = fs::metadata(&path).unwrap();
        (
            metadata.uid(),
            metadata.mode() & 0o7777,
            project.read("web.yaml"),
        )
    };
    chown(&path, Some(1234), Some(4321)).unwrap();
    for closed in [0o644, 0o604] {
        mode(&path, closed);
        let before = state();
        let run = as_user(&project, &WRITE).exits(2);
        run.stderr_contains("cannot write `web.yaml`: permission denied");
        assert_eq!(state(), before);
    }
    fs::write(project.path("r.json"), "{}").unwrap();
    chown(project.path("r.json"), Some(1234), Some(4321)).unwrap();
    mode(&project.path("r.json"), 0o644);
    let report = ["check", "--quiet", "--report", "json=r.json"];
    as_user(&project, &report)
        .exits(2)
        .stderr_contains("permission denied");
    assert_eq!(project.read("r.json"), "{}");
    // A user with write permission replaces the file, and owns it afterwards.
    mode(&path, 0o666);
    as_user(&project, &WRITE).exits(0);
    let (owner, mode, text) = state();
    assert_eq!((owner, mode), (65534, 0o666));
    assert_ne!(text, deployment("web"));
}
