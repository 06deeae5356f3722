//! Faults in the content of a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::page::{self, Row};
use super::scene::{
    after, as_user, check, check_with, deployment, for_user, held, mode, row, shop,
};
use crate::support::project::Project;

/// A folder with a Namespace, a Deployment, and the files that `prepare` adds.
fn shop_with(prepare: impl FnOnce(&Project)) -> Project {
    let project = shop();
    prepare(&project);
    project
}

fn linked(name: &'static str, to: &str) -> Project {
    shop_with(|project| symlink(to, project.path(name)).unwrap())
}

const CONCISE: [&str; 3] = ["check", "--output-format", "concise"];

#[test]
fn folders() {
    let pipe = || shop_with(|project| project.pipe_file("pipe.yaml"));
    let socket =
        || shop_with(|project| drop(UnixListener::bind(project.path("socket.yaml")).unwrap()));
    let closed = |name: &'static str| {
        move |project: &Project| {
            project.write("closed/a.yaml", deployment("a"));
            mode(&project.path(name), 0);
        }
    };
    page::check(
        "Folders",
        &[
            row(
                "a link to the folder that contains it",
                &linked("up", "."),
                0,
                "in 2 files",
                check,
            ),
            row(
                "two links that refer to each other",
                &shop_with(|project| {
                    symlink("b.yaml", project.path("a.yaml")).unwrap();
                    symlink("a.yaml", project.path("b.yaml")).unwrap();
                }),
                0,
                "a.yaml",
                check,
            ),
            row(
                "a broken link",
                &linked("gone.yaml", "nowhere"),
                0,
                "gone.yaml",
                check,
            ),
            row(
                "a link out of the repository",
                &linked("passwd.yaml", "/etc/passwd"),
                0,
                "passwd.yaml",
                check,
            ),
            row(
                "the same, `rewrite --write`",
                &linked("passwd.yaml", "/etc/passwd"),
                0,
                "passwd.yaml",
                |project| project.run(&["rewrite", "--write", "."]),
            ),
            row(
                "a link to `/dev/zero`",
                &linked("zero.yaml", "/dev/zero"),
                0,
                "zero.yaml",
                check,
            ),
            row(
                "the same, named by the user",
                &linked("zero.yaml", "/dev/zero"),
                2,
                "zero.yaml",
                |project| check_with(project, &["zero.yaml"]),
            ),
            row("a named pipe", &pipe(), 0, "pipe.yaml", check),
            row("a socket", &socket(), 0, "socket.yaml", check),
            row(
                "the same, named by the user",
                &socket(),
                2,
                "socket.yaml",
                |project| check_with(project, &["socket.yaml"]),
            ),
            row(
                "`.gitignore` is a link to `/dev/zero`",
                &linked(".gitignore", "/dev/zero"),
                0,
                ".gitignore",
                check,
            ),
            row(
                "`.ignore` is a link out of the repository",
                &linked(".ignore", "/etc/passwd"),
                0,
                ".ignore",
                check,
            ),
            row(
                "a link out of a tree that has no `.git`",
                &shop_with(|project| {
                    fs::remove_dir_all(project.path(".git")).unwrap();
                    symlink("/etc/passwd", project.path("users.yaml")).unwrap();
                }),
                0,
                "users.yaml",
                check,
            ),
            row(
                "an annotation that names a file out of the repository as its source",
                &shop_with(|project| {
                    let source =
                        "metadata: {annotations: {config.kubernetes.io/path: /etc/passwd}, ";
                    let text = deployment("web").replacen("metadata: {", source, 1);
                    project.write("web.yaml", text.replace("port: 8080", "port: 0"));
                }),
                1,
                "web.yaml:",
                check,
            ),
            row(
                "`.git` is a file that names a foreign folder, which has ignore rules",
                &shop_with(|project| {
                    fs::remove_dir_all(project.path(".git")).unwrap();
                    project.write(".git", "gitdir: elsewhere\n");
                    project.write("elsewhere/commondir", ".\n");
                    project.write("elsewhere/info/exclude", "*.yaml\n");
                }),
                0,
                "in 2 files",
                check,
            ),
            row(
                "`.ignore` names a manifest that git tracks",
                &shop_with(|project| {
                    project.git("", &["init", "--quiet"]);
                    project.git("", &["add", "--all"]);
                    project.write(".ignore", "web.yaml\n");
                }),
                0,
                "in 2 files",
                check,
            ),
            row(
                "`.ignore` of a folder below is a pipe",
                &shop_with(|project| {
                    project.write("below/b.yaml", deployment("b"));
                    project.pipe_file("below/.ignore");
                }),
                0,
                "below/.ignore",
                check,
            ),
            row(
                "`.git/info/exclude` of a folder above is a pipe",
                &shop_with(|project| {
                    project.write("below/b.yaml", deployment("b"));
                    project.write(".git/info/x", "");
                    project.pipe_file(".git/info/exclude");
                }),
                0,
                "exclude",
                |project| check_with(project, &["below"]),
            ),
            row(
                "`.gitignore` of 5 MB",
                &shop_with(|project| project.write(".gitignore", "*.yaml\n".repeat(750_000))),
                0,
                ".gitignore",
                check,
            ),
            row(
                "`kustomization.yaml` is a link to `/dev/zero`",
                &linked("kustomization.yaml", "/dev/zero"),
                0,
                "kustomization.yaml",
                check,
            ),
            row(
                "`.meshprobe.yaml` is a pipe",
                &shop_with(|project| project.pipe_file(".meshprobe.yaml")),
                0,
                ".meshprobe.yaml",
                check,
            ),
            row(
                "`.meshprobe.yaml` is a link out of the repository",
                &linked(".meshprobe.yaml", "/etc/passwd"),
                2,
                ".meshprobe.yaml",
                check,
            ),
            row(
                "`.meshprobe.yaml` names standard input as `context`",
                &shop_with(|project| {
                    let text = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\n\
                                spec: {context: [/dev/stdin]}\n";
                    project.write(".meshprobe.yaml", text);
                }),
                2,
                "/dev/stdin",
                check,
            ),
            row(
                "an endless configuration",
                &shop(),
                2,
                "/dev/zero",
                |project| check_with(project, &["--config", "/dev/zero"]),
            ),
            row(
                "a file without read permission",
                &for_user(shop_with(|project| mode(&project.path("web.yaml"), 0))),
                1,
                "web.yaml",
                |project| as_user(project, &CONCISE),
            ),
            row(
                "the same, named by the user",
                &for_user(shop_with(|project| mode(&project.path("web.yaml"), 0))),
                2,
                "web.yaml",
                |project| as_user(project, &[&CONCISE[..], &["web.yaml"]].concat()),
            ),
            row(
                "a folder without read permission",
                &for_user(shop_with(closed("closed"))),
                0,
                "closed",
                |project| as_user(project, &CONCISE),
            ),
            row(
                "a path that does not exist",
                &shop(),
                2,
                "nowhere.yaml",
                |project| check_with(project, &["nowhere.yaml"]),
            ),
            row(
                "a file that can be opened but not read",
                &shop(),
                2,
                "mem",
                |project| check_with(project, &["/proc/self/mem"]),
            ),
            removed_file(),
            many_files(),
        ],
    );
}

/// The names are read before the files: the pipe is the first file, and blocks the run.
fn removed_file() -> Row {
    let project = shop();
    let arguments = [&CONCISE[..], &["."]].concat();
    row(
        "a file removed between listing and reading",
        &project,
        0,
        "web.yaml",
        |project| {
            held(project, &arguments, "a.pipe", || {
                fs::remove_file(project.path("web.yaml")).unwrap()
            })
        },
    )
}

/// One file with many names costs as much as many small files.
fn many_files() -> Row {
    let project = shop();
    for folder in 0..25 {
        fs::create_dir(project.path(&folder.to_string())).unwrap();
        for file in 0..200 {
            let name = format!("{folder}/{file}.yaml");
            fs::hard_link(project.path("web.yaml"), project.path(&name)).unwrap();
        }
    }
    // mimalloc reserves 256 MiB at once if they are available: slightly above that, the rest is too small for a thread.
    row(
        "5,000 small files, with 250 MB of address space",
        &project,
        0,
        "in 5002 files",
        |project| after("ulimit -v 250000", project, &CONCISE, b""),
    )
}
