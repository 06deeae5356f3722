//! Files with similar names are different files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, OPT_OUT, PROBED, Pod, STRICT, join};
use crate::support::project::Project;
use crate::support::{PROGRAM, command, run};

/// A name with a byte that is not UTF-8, and the name that looks like its escaped form.
const NAMES: [&[u8]; 2] = [b"x\xff", b"x\\xff"];

fn name(name: &[u8], suffix: &str) -> PathBuf {
    OsStr::from_bytes(&[name, suffix.as_bytes()].concat()).into()
}

fn pod(name: &str) -> String {
    let pod = Pod::new(name).within("shop").container(name);
    pod.probe("livenessProbe", "httpGet: {path: /, port: 8080}")
        .to_string()
}

/// Checks that each of two files is checked, predicted and rewritten.
#[track_caller]
fn assert_both_are_read(project: &Project, files: &[PathBuf; 2]) {
    let texts = ["weba", "webb"].map(pod);
    for (file, text) in files.iter().zip(&texts) {
        let path = project.path("").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let run = project.run(&["check", "."]).exits(0);
    run.stdout_contains("in 3 files (2 workloads, 2 handlers)");
    let run = project.run(&["predict", "."]).exits(0);
    run.stdout_contains("weba").stdout_contains("webb");
    let run = project.run(&["check", "--verbose", "."]).exits(0);
    run.stderr_contains("x\\xff").stderr_contains("x\\x5cxff");
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0)
        .stderr_contains("2 of 2 workloads rewritten. Changed 2 files");
    for (file, text) in files.iter().zip(&texts) {
        let rewritten = fs::read_to_string(project.path("").join(file)).unwrap();
        assert_ne!(rewritten, *text, "{}", file.display());
    }
    project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    for (file, text) in files.iter().zip(&texts) {
        let undone = fs::read_to_string(project.path("").join(file)).unwrap();
        assert_eq!(undone, *text, "{}", file.display());
    }
}

fn project() -> Project {
    Project::with(&[("ns.yaml", &join(&[INJECTED, STRICT]))])
}

#[test]
fn a_byte_and_its_escaped_form_are_two_names() {
    assert_both_are_read(&project(), &NAMES.map(|bytes| name(bytes, ".yaml")));
    assert_both_are_read(&project(), &NAMES.map(|bytes| name(bytes, "/web.yaml")));
}

#[test]
fn findings_of_files_with_similar_names_are_all_reported() {
    let project = project();
    for (at, bytes) in NAMES.into_iter().enumerate() {
        let text = pod(&format!("web{at}")).replace(
            "namespace: shop",
            &format!("namespace: shop, annotations: {{{OPT_OUT}}}"),
        );
        fs::write(project.path("").join(name(bytes, ".yaml")), text).unwrap();
    }
    for format in ["concise", "json", "sarif", "gitlab", "junit", "github"] {
        let run = project
            .run(&["check", "--output-format", format, "."])
            .exits(1);
        run.stdout_contains("web0").stdout_contains("web1");
    }
}

#[test]
fn a_kustomization_finds_a_file_with_a_name_like_an_escaped_byte() {
    let project = project();
    let folder = project.path("").join(name(NAMES[1], ""));
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("kustomization.yaml"),
        "namespace: shop\nresources: ['w\\xfe.yaml', '../ns.yaml', '../y\\xfe']\n",
    )
    .unwrap();
    fs::write(
        folder.join("w\\xfe.yaml"),
        pod("weba").replace("shop", "other"),
    )
    .unwrap();
    let base = project.path("").join("y\\xfe");
    fs::create_dir(&base).unwrap();
    fs::write(
        base.join("kustomization.yaml"),
        "resources: ['z\\xfd.yaml']\n",
    )
    .unwrap();
    fs::write(
        base.join("z\\xfd.yaml"),
        pod("webb").replace("shop", "other"),
    )
    .unwrap();
    for paths in [".", "x\\xff"] {
        let run = project.run(&["predict", paths]).exits(0);
        run.stdout_contains("weba").stdout_contains("webb");
        let run = project.run(&["check", paths]);
        assert!(!run.stdout.contains("not among"), "{}", run.stdout);
    }
}

/// `git apply` of a diff changes the file that was checked, and no file with a similar name.
#[test]
fn a_diff_names_the_file() {
    let names: [&[u8]; 9] = [
        b"a\tb.yaml",
        b"a\nb.yaml",
        b"a\rb.yaml",
        b"a\xffb.yaml",
        b"a\"b.yaml",
        b"a\\tb.yaml",
        b"a b.yaml",
        "a\u{200b}b.yaml".as_bytes(),
        "gr\u{f6}\u{df}e 2020-01-01 00:00:00.yaml".as_bytes(),
    ];
    let opted_out = join(&[INJECTED, STRICT, NOT_REWRITTEN]);
    let injected = join(&[INJECTED, STRICT, PROBED]);
    let commands: [(&str, &[&str]); 2] = [
        (
            &opted_out,
            &["check", "--no-context", "--diff", "--unsafe-fixes", "--"],
        ),
        (
            &injected,
            &[
                "rewrite",
                "--no-context",
                "--diff",
                "--mesh-version",
                "1.28",
                "--",
            ],
        ),
    ];
    for (name, (text, options)) in names.iter().flat_map(|name| commands.map(|it| (name, it))) {
        let project = Project::new();
        project.git("", &["init", "--quiet"]);
        project.write("a b.yaml", text);
        let path = project.path("").join(OsStr::from_bytes(name));
        fs::write(&path, text).unwrap();
        let mut program = command(PROGRAM.as_ref(), &project.path(""));
        let run = run(program.args(options).arg(OsStr::from_bytes(name)), b"");
        assert!(
            run.stdout.starts_with("--- "),
            "{name:?} {options:?}: {run:?}"
        );
        project.write("patch", &run.stdout);
        project.git("", &["apply", "patch"]);
        assert_ne!(fs::read_to_string(&path).unwrap(), text, "{name:?}");
        let is_other = *name != b"a b.yaml";
        assert_eq!(project.read("a b.yaml") == text, is_other, "{name:?}");
    }
}
