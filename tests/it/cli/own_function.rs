//! The function of meshprobe among the plugins of a kustomization.

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

fn function(run: &str) -> String {
    format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata:\n  name: meshprobe\n  annotations:\n    config.kubernetes.io/function: |\n      {run}\n"
    )
}

fn lines(list: &str, files: &[(&str, &str)]) -> String {
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ]);
    for (path, text) in files {
        project.write(path, text);
    }
    project.write(
        "kustomization.yaml",
        format!("resources: [ns.yaml, web.yaml, mtls.yaml]\n{list}"),
    );
    project.run(&["check", "--fail-on=never"]).exits(0).stdout
}

const EXEC: &str = "exec: {path: ./bin/meshprobe-krm}";

#[test]
fn the_own_function_is_known() {
    let (exec, image) = (
        function(EXEC),
        function("container: {image: 'registry.example/x/meshprobe:v1'}"),
    );
    let plugin =
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: meshprobe}\n";
    let inline: String = exec.lines().map(|line| format!("  {line}\n")).collect();
    let mut cases = vec![(format!("transformers:\n- |-\n{inline}"), vec![])];
    for field in ["transformers", "validators", "generators"] {
        for text in [&*exec, &image, plugin] {
            cases.push((format!("{field}: [mesh.yaml]\n"), vec![("mesh.yaml", text)]));
        }
        let folder = [
            ("fn/kustomization.yaml", "resources: [mesh.yaml]\n"),
            ("fn/mesh.yaml", &*exec),
        ];
        cases.push((format!("{field}: [fn]\n"), folder.to_vec()));
    }
    for (list, files) in cases {
        let out = lines(&list, &files);
        assert!(
            out.contains("error[strict-probe-not-rewritten]"),
            "{list}: {out}"
        );
        assert!(!out.contains("not modelled"), "{list}: {out}");
    }
}

#[test]
fn another_program_is_not_known() {
    let other = "apiVersion: x.example/v1\nkind: Other\nmetadata:\n  name: other\n  annotations: {config.kubernetes.io/function: 'exec: {path: ./other.sh}'}\n";
    let exec = function(EXEC);
    let disguised = function("exec: {path: ./other.sh}");
    for (list, first) in [
        ("[mesh.yaml, other.yaml]", &exec),
        ("[mesh.yaml]", &disguised),
    ] {
        let out = lines(
            &format!("transformers: {list}\n"),
            &[("mesh.yaml", first), ("other.yaml", other)],
        );
        assert!(out.contains("warning[strict-probe-not-rewritten]"), "{out}");
        assert!(out.contains("`transformers` is not modelled"), "{out}");
        assert!(
            out.contains("kustomize build --enable-alpha-plugins --enable-exec . | meshprobe"),
            "{out}"
        );
    }
}
