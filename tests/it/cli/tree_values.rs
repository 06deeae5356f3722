//! Values that Flux and kustomize take from ConfigMaps, Secrets and files of the tree.

use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, Pod, join};
use crate::support::project::Project;

/// The values of istiod that switch the probe rewrite off.
const REWRITE_OFF: &str = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n";

/// A pod of the namespace `shop` whose probe always passes if it is not rewritten.
const TCP: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    livenessProbe: {tcpSocket: {port: 8080}}
";

fn lines(project: &Project) -> String {
    project
        .run(&["check", "--fail-on=never", "--output-format=concise"])
        .exits(0)
        .stdout
}

/// Returns a Flux Kustomization that deploys `apps` with the entries of `postBuild`.
fn flux(post_build: &str) -> String {
    Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "shop")
        .within("flux-system")
        .spec(&format!(
            "{{path: ./apps, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}, postBuild: {{{post_build}}}}}"
        ))
        .to_string()
}

/// Returns a project whose policy has the mode `${MODE}`.
fn substituted(mode: &str, post_build: &str, files: &[(&str, &str)]) -> Project {
    let policy = Manifest::peer_authentication("shop", &format!("'{mode}'")).to_string();
    let apps = join(&[INJECTED, &policy, NOT_REWRITTEN]);
    let project = Project::with(&[
        ("apps/web.yaml", &apps),
        ("clusters/eu1/apps.yaml", &flux(post_build)),
    ]);
    for (path, text) in files {
        project.write(path, text);
    }
    project
}

fn config_map(name: &str, data: &str) -> String {
    Manifest::config_map(name, data)
        .within("flux-system")
        .to_string()
}

fn secret(entries: &str) -> String {
    Manifest::new("v1", "Secret", "vars")
        .within("flux-system")
        .field(entries)
        .to_string()
}

const FROM_CONFIG: &str = "substituteFrom: [{kind: ConfigMap, name: vars}]";
const FROM_SECRET: &str = "substituteFrom: [{kind: Secret, name: vars}]";

/// A name, the source of the variable, more files, and whether the value is known.
type Case<'a> = (&'a str, String, Vec<(&'a str, String)>, bool);

#[test]
fn variables_of_the_tree_are_filled_in() {
    let strict = config_map("vars", "MODE: STRICT");
    let more = |second: &str| format!("{strict}---\n{}", config_map("more", second));
    let both = "substituteFrom: [{kind: ConfigMap, name: vars}, {kind: ConfigMap, name: more}]";
    let generated = |rest: &str| {
        format!(
            "resources: [apps.yaml]\nconfigMapGenerator:\n- {{name: vars, namespace: flux-system, {rest}}}\n"
        )
    };
    let (literals, env, value) = (
        generated("literals: ['MODE=\"STRICT\"']"),
        generated("envs: [vars.env]"),
        generated("files: [MODE=mode.txt]"),
    );
    let merged = format!(
        "{literals}- {{name: vars, namespace: flux-system, behavior: merge, literals: [MODE=PERMISSIVE]}}\n"
    );
    let vars = "clusters/eu1/vars.yaml";
    let list = "clusters/eu1/kustomization.yaml";
    let cases: Vec<Case<'_>> = vec![
        (
            "ConfigMap",
            FROM_CONFIG.into(),
            vec![(vars, strict.clone())],
            true,
        ),
        (
            "Secret",
            FROM_SECRET.into(),
            vec![(vars, secret("data: {MODE: U1RSSUNU}"))],
            true,
        ),
        (
            "stringData",
            FROM_SECRET.into(),
            vec![(
                vars,
                secret("data: {MODE: U1RSSUNU}\nstringData: {MODE: DISABLE}"),
            )],
            false,
        ),
        (
            "later",
            both.into(),
            vec![(vars, more("MODE: DISABLE"))],
            false,
        ),
        (
            "other",
            both.into(),
            vec![(vars, more("OTHER: DISABLE"))],
            true,
        ),
        (
            "inline",
            format!("substitute: {{MODE: DISABLE}}, {FROM_CONFIG}"),
            vec![(vars, strict.clone())],
            false,
        ),
        ("literals", FROM_CONFIG.into(), vec![(list, literals)], true),
        (
            "env file",
            FROM_CONFIG.into(),
            vec![
                (list, env),
                ("clusters/eu1/vars.env", "# mode\n\nMODE=STRICT\n".into()),
            ],
            true,
        ),
        (
            "file",
            FROM_CONFIG.into(),
            vec![(list, value), ("clusters/eu1/mode.txt", "STRICT\n".into())],
            true,
        ),
        ("merged", FROM_CONFIG.into(), vec![(list, merged)], false),
        (
            "far",
            FROM_CONFIG.into(),
            vec![("vars/eu1/vars.yaml", strict.clone())],
            true,
        ),
        (
            "next to an object that another folder has too",
            FROM_CONFIG.into(),
            vec![
                ("vars/vars.yaml", strict.clone()),
                ("vars/dashboards.yaml", config_map("dashboards", "A: b")),
                ("clusters/dashboards.yaml", config_map("dashboards", "A: b")),
            ],
            true,
        ),
    ];
    for (name, post_build, files, is_strict) in cases {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        let out = lines(&substituted("${MODE}", &post_build, &files));
        assert_eq!(
            out.contains("error[strict-probe-not-rewritten]"),
            is_strict,
            "{name}: {out}"
        );
        assert!(!out.contains("without a verdict"), "{name}: {out}");
    }
}

#[test]
fn variables_that_are_not_known_name_their_source() {
    let encrypted = secret(
        "stringData: {MODE: 'ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]'}\nsops: {version: 3.9.0}",
    );
    let elsewhere = Manifest::config_map("vars", "MODE: STRICT")
        .within("other")
        .to_string();
    let strict = config_map("vars", "MODE: STRICT");
    let env = "resources: [apps.yaml]\nconfigMapGenerator: [{name: vars, namespace: flux-system, envs: [absent.env]}]\n";
    let later = "substituteFrom: [{kind: ConfigMap, name: vars}, {kind: ConfigMap, name: more}]";
    for (post_build, path, text, source) in [
        (
            FROM_CONFIG,
            "x.yaml",
            "",
            "ConfigMap `vars` (clusters/eu1/apps.yaml:4) is not in the tree",
        ),
        (
            FROM_CONFIG,
            "x.yaml",
            &*elsewhere,
            "ConfigMap `vars` (clusters/eu1/apps.yaml:4) is not in the tree",
        ),
        (
            FROM_SECRET,
            "x.yaml",
            &*encrypted,
            "Secret `vars` (clusters/eu1/apps.yaml:4) is encrypted",
        ),
        (
            FROM_CONFIG,
            "clusters/eu1/kustomization.yaml",
            env,
            "ConfigMap `vars` (clusters/eu1/apps.yaml:4) is encrypted or not",
        ),
        (
            later,
            "x.yaml",
            &*strict,
            "ConfigMap `more` (clusters/eu1/apps.yaml:4) is not in the tree",
        ),
    ] {
        let project = substituted("${MODE}", post_build, &[(path, text)]);
        let out = lines(&project);
        assert!(!out.contains("error"), "{source}: {out}");
        let explained = project.run(&["predict", "--explain"]).exits(0).stdout;
        let words: Vec<&str> = explained.split_whitespace().collect();
        let explained = words.join(" ");
        let reason = format!("Flux fills in this mode; {source}");
        assert!(explained.contains(&reason), "{source}: {explained}");
        assert!(
            !explained.contains("another tool fills in the mode"),
            "{explained}"
        );
    }
    // Flux continues without an optional ConfigMap.
    let optional =
        "substitute: {A: b}, substituteFrom: [{kind: ConfigMap, name: vars, optional: true}]";
    let out = lines(&substituted("${MODE:=STRICT}", optional, &[]));
    assert!(out.contains("error[strict-probe-not-rewritten]"), "{out}");
}

/// A ConfigMap of another cluster does not apply.
#[test]
fn each_cluster_has_its_own_variables() {
    let strict = config_map("vars", "MODE: STRICT");
    let project = substituted(
        "${MODE}",
        FROM_CONFIG,
        &[("clusters/eu1/vars.yaml", &strict)],
    );
    project.write("clusters/us1/apps.yaml", flux(FROM_CONFIG));
    let out = lines(&project);
    assert!(out.contains("in: eu1; not known in us1"), "{out}");
    project.write(
        "clusters/us1/vars.yaml",
        strict.replace("STRICT", "DISABLE"),
    );
    let out = lines(&project);
    assert!(out.contains("in: eu1; works in us1"), "{out}");
}

/// The variables of a rendered ConfigMap are those after the changes of its kustomization.
#[test]
fn variables_are_those_of_the_overlay() {
    let base = config_map("vars", "MODE: DISABLE");
    let list = "resources: [../../base, apps.yaml]\npatches:\n- patch: |-\n    - {op: replace, path: /data/MODE, value: STRICT}\n  target: {kind: ConfigMap}\n";
    let project = substituted("${MODE}", FROM_CONFIG, &[("base/vars.yaml", &base)]);
    project.write("base/kustomization.yaml", "resources: [vars.yaml]\n");
    project.write("clusters/eu1/kustomization.yaml", list);
    let out = lines(&project);
    assert!(out.contains("error[strict-probe-not-rewritten]"), "{out}");
}

#[test]
fn a_variable_that_becomes_a_boolean_has_its_own_advice() {
    let pod = Pod::deployment("web")
        .within("shop")
        .annotations("sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'")
        .probe("livenessProbe", "httpGet: {port: 8080}")
        .to_string();
    let apps = join(&[INJECTED, &pod]);
    let plain = "substitute: {REWRITE: 'true'}";
    for (post_build, value, is_reported) in [
        (plain, "'${REWRITE}'", true),
        ("substitute: {REWRITE: '\"true\"'}", "'${REWRITE}'", false),
        (
            "substitute: {REWRITE: 'true', quote: '\"'}",
            "'${quote}${REWRITE}${quote}'",
            false,
        ),
    ] {
        let apps = apps.replace("'${REWRITE}'", value);
        let project = Project::with(&[
            ("apps/web.yaml", &apps),
            ("clusters/eu1/apps.yaml", &flux(post_build)),
        ]);
        let out = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
        assert_eq!(
            out.contains("error[annotation-not-a-string]"),
            is_reported,
            "{post_build}: {out}"
        );
        let words: Vec<&str> = out.split_whitespace().collect();
        let out = words.join(" ");
        if is_reported {
            assert!(
                out.contains("write the value of the variable as `'\"true\"'`"),
                "{out}"
            );
            assert!(out.contains("this annotation takes the value"), "{out}");
            assert!(!out.contains("quote the value: "), "{out}");
        }
    }
}

#[test]
fn flux_inserts_values_into_the_text_of_the_build() {
    let deployment = |annotations: &str| {
        let pod = Pod::deployment("web")
            .within("shop")
            .annotations(annotations);
        join(&[
            INJECTED,
            &pod.probe("livenessProbe", "httpGet: {port: 8080}")
                .to_string(),
        ])
    };
    let rewrite = deployment("sidecar.istio.io/rewriteAppHTTPProbers: '${R}'");
    let of_namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {a: '${R}'}}\n"
            .to_owned();
    let not_a_string = "error[annotation-not-a-string]";
    for (apps, value, reported) in [
        (&rewrite, "\"'false'\"", None),
        (&rewrite, "'\"false\"'", None),
        (&rewrite, "'false'", Some(not_a_string)),
        (&rewrite, "'yes'", Some(not_a_string)),
        (&rewrite, "'on'", Some(not_a_string)),
        (&rewrite, "'y'", Some(not_a_string)),
        (&rewrite, "'1'", Some(not_a_string)),
        (
            &of_namespace,
            "'true'",
            Some("annotation `a` must be a string"),
        ),
    ] {
        let project = Project::with(&[
            ("apps/web.yaml", apps),
            (
                "clusters/eu1/apps.yaml",
                &flux(&format!("substitute: {{R: {value}}}")),
            ),
        ]);
        let out = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words.contains(not_a_string),
            reported.is_some(),
            "{value}: {out}"
        );
        assert!(
            words.contains(reported.unwrap_or_default()),
            "{value}: {out}"
        );
        assert!(!words.contains("annotation-bad-boolean"), "{value}: {out}");
    }
}

#[test]
fn the_place_of_a_value_is_not_that_of_its_quotes() {
    let pod = Pod::deployment("web")
        .within("shop")
        .annotations("sidecar.istio.io/rewriteAppHTTPProbers: '${q}${R}${q}'")
        .probe("livenessProbe", "httpGet: {port: 8080}")
        .to_string();
    let flux = flux("substitute: {q: '\"', R: maybe}").replace(", R: maybe", ",\n  R: maybe");
    let project = Project::with(&[
        ("apps/web.yaml", &join(&[INJECTED, &pod])),
        ("clusters/eu1/apps.yaml", &flux),
    ]);
    let line = 1 + flux
        .lines()
        .position(|line| line.contains("R: maybe"))
        .unwrap();
    let out = lines(&project);
    assert!(
        out.contains(&format!("clusters/eu1/apps.yaml:{line}")),
        "{out}"
    );
}

#[test]
fn flux_fills_in_values_before_helm_reads_them() {
    let release = Manifest::new("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod")
        .within("istio-system")
        .spec("{chart: {spec: {chart: istiod, version: 1.28.1, sourceRef: {kind: HelmRepository, name: istio}}}, valuesFrom: [{kind: ConfigMap, name: values}]}")
        .to_string();
    for (text, substitute, is_off) in [
        (
            "'sidecarInjectorWebhook: {rewriteAppHTTPProbe: ${X}}'",
            "X: 'false'",
            true,
        ),
        (
            "\"sidecarInjectorWebhook:\\n  rewriteAppHTTPProbe: ${X}\\n\"",
            "X: 'false'",
            true,
        ),
        (
            "'sidecarInjectorWebhook: {rewriteAppHTTPProbe: ${X}}'",
            "Y: 'false'",
            false,
        ),
    ] {
        let values = Manifest::config_map("values", &format!("values.yaml: {text}"));
        let values = values.within("istio-system").to_string();
        let istio = flux(&format!("substitute: {{{substitute}}}")).replace("./apps", "./istio");
        let out = lines(&installed(&[
            ("istio/istiod.yaml", &join(&[&release, &values])),
            ("clusters/eu1/istio.yaml", &istio),
        ]));
        assert_eq!(
            out.contains("error[tcp-probe-always-passes]"),
            is_off,
            "{text}: {out}"
        );
        assert!(!out.contains("syntax-error"), "{text}: {out}");
    }
}

/// Returns a project with a workload and files that install the mesh.
fn installed(files: &[(&str, &str)]) -> Project {
    let project = Project::with(&[("apps/web.yaml", &join(&[INJECTED, TCP]))]);
    for (path, text) in files {
        project.write(path, text);
    }
    project
}

/// Checks whether the probe rewrite is off in a mesh that these files install.
fn assert_rewrite(files: &[(&str, &str)], is_off: bool) {
    let out = lines(&installed(files));
    assert_eq!(
        out.contains("error[tcp-probe-always-passes]"),
        is_off,
        "{files:?}: {out}"
    );
    assert!(!out.contains("note["), "{files:?}: {out}");
}

#[test]
fn values_files_of_the_webhook_only_are_recognized() {
    assert_rewrite(&[("istio/values.yaml", REWRITE_OFF)], true);
    for indent in ["istiod:\n", "umbrella:\n  istiod:\n"] {
        let depth = " ".repeat(indent.len() - indent.trim_end().len() + 2 * indent.lines().count());
        let text = format!("{indent}{depth}{REWRITE_OFF}");
        assert_rewrite(&[("istio/values.yaml", &text)], true);
    }
    assert_rewrite(
        &[("web/values.yaml", "web: {sidecarInjectorWebhook: true}\n")],
        false,
    );
    // An example does not contradict what is deployed.
    let charts = "helmCharts: [{name: istiod, repo: 'https://istio-release.storage.googleapis.com/charts', version: 1.28.1, releaseName: istiod, valuesFile: values.yaml}]\n";
    let example = REWRITE_OFF.replace("false", "true");
    assert_rewrite(
        &[
            ("istio/kustomization.yaml", charts),
            ("istio/values.yaml", REWRITE_OFF),
            ("docs/example-values.yaml", &example),
        ],
        true,
    );
}

#[test]
fn values_of_a_release_come_from_config_maps_of_the_tree() {
    let release = |reference: &str| {
        Manifest::new("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod")
            .within("istio-system")
            .spec(&format!(
                "{{chart: {{spec: {{chart: istiod, version: 1.28.1, sourceRef: {{kind: HelmRepository, name: istio}}}}}}, valuesFrom: [{{{reference}}}]}}"
            ))
            .to_string()
    };
    let map = release("kind: ConfigMap, name: values");
    let path = "kind: Secret, name: values, valuesKey: rewrite, targetPath: sidecarInjectorWebhook.rewriteAppHTTPProbe";
    let generator = |field: &str, entries: &str| {
        format!(
            "resources: [istiod.yaml]\nconfigurations: [names.yaml]\n{field}: [{{name: values, namespace: istio-system, {entries}}}]\n"
        )
    };
    let names = "nameReference:\n- {kind: ConfigMap, version: v1, fieldSpecs: [{kind: HelmRelease, path: spec/valuesFrom/name}]}\n";
    let plain = Manifest::config_map(
        "values",
        "values.yaml: 'sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}'",
    );
    let plain = plain.within("istio-system").to_string();
    assert_rewrite(
        &[("istio/istiod.yaml", &map), ("istio/values.yaml", &plain)],
        true,
    );
    let list = generator(
        "configMapGenerator",
        "files: [values.yaml=istiod.values.yaml]",
    );
    assert_rewrite(
        &[
            ("istio/istiod.yaml", &map),
            ("istio/kustomization.yaml", &list),
            ("istio/names.yaml", names),
            ("istio/istiod.values.yaml", REWRITE_OFF),
        ],
        true,
    );
    let list = generator("secretGenerator", "literals: [rewrite=false]");
    assert_rewrite(
        &[
            ("istio/istiod.yaml", &release(path)),
            ("istio/kustomization.yaml", &list),
            ("istio/names.yaml", names),
        ],
        true,
    );
}

/// The values of the base describe no installation if an overlay replaces them.
#[test]
fn values_of_a_base_are_replaced_by_an_overlay() {
    let release = Manifest::new("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod")
        .within("istio-system")
        .spec("{chart: {spec: {chart: istiod, version: 1.28.1, sourceRef: {kind: HelmRepository, name: istio}}}, valuesFrom: [{kind: ConfigMap, name: values}]}")
        .to_string();
    let base = "pilot: {env: {A: b}}\nmeshConfig: {enableAutoMtls: true}\n";
    let values = |value: &str| {
        let rewrite = REWRITE_OFF.replace("false", value);
        format!("{base}{rewrite}")
    };
    let generator = |rest: &str| {
        format!("configMapGenerator: [{{name: values, namespace: istio-system, {rest}}}]\n")
    };
    for (behavior, value, is_off) in [
        ("merge", "true", false),
        ("merge", "false", true),
        ("replace", "true", false),
    ] {
        let other = if is_off { "true" } else { "false" };
        let overlay = generator(&format!(
            "behavior: {behavior}, files: [values.yaml=prod.yaml]"
        ));
        assert_rewrite(
            &[
                (
                    "base/kustomization.yaml",
                    &format!(
                        "resources: [istiod.yaml]\n{}",
                        generator("files: [values.yaml]")
                    ),
                ),
                ("base/istiod.yaml", &release),
                ("base/values.yaml", &values(other)),
                (
                    "prod/kustomization.yaml",
                    &format!("resources: [../base]\n{overlay}"),
                ),
                ("prod/prod.yaml", &values(value)),
            ],
            is_off,
        );
    }
}

/// A ConfigMap of the same name in another cluster is not that of the release.
#[test]
fn values_of_a_generator_without_a_release_are_read() {
    let release = Manifest::new("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod")
        .within("istio-system")
        .spec("{chart: {spec: {chart: istiod, version: 1.28.1, sourceRef: {kind: HelmRepository, name: istio}}}, valuesFrom: [{kind: ConfigMap, name: values}]}")
        .to_string();
    let generator =
        "configMapGenerator: [{name: values, namespace: istio-system, files: [values.yaml]}]\n";
    let own = format!("resources: [istiod.yaml]\n{generator}");
    let base = "pilot: {env: {A: b}}\nmeshConfig: {enableAutoMtls: true}\n";
    let off = format!("{base}{REWRITE_OFF}");
    let on = off.replace("false", "true");
    let project = Project::with(&[
        ("clusters/a/kustomization.yaml", &own),
        ("clusters/a/istiod.yaml", &release),
        ("clusters/a/values.yaml", &on),
        ("clusters/b/kustomization.yaml", generator),
        ("clusters/b/values.yaml", &off),
        ("clusters/b/ns.yaml", INJECTED),
        ("clusters/b/web.yaml", TCP),
    ]);
    let out = lines(&project);
    assert!(out.contains("error[tcp-probe-always-passes]"), "{out}");
}

#[test]
fn a_generator_of_a_chart_installs_the_mesh() {
    let generator = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: istiod}\nname: istiod\nrepo: https://istio-release.storage.googleapis.com/charts\nversion: 1.28.1\nreleaseName: istiod\n";
    for values in [
        "valuesFile: values.yaml",
        "valuesInline: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}",
    ] {
        let out = lines(&installed(&[
            ("istio/kustomization.yaml", "generators: [istiod.yaml]\n"),
            ("istio/istiod.yaml", &format!("{generator}{values}\n")),
            ("istio/values.yaml", REWRITE_OFF),
        ]));
        assert!(out.contains("[tcp-probe-always-passes]"), "{values}: {out}");
    }
}

#[test]
fn charts_of_a_kustomization_install_the_mesh() {
    let chart = |rest: &str| {
        format!(
            "helmCharts:\n- {{name: istiod, repo: 'https://istio-release.storage.googleapis.com/charts', version: 1.28.1, {rest}}}\n"
        )
    };
    let inline = |value: &str| {
        format!("valuesInline: {{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {value}}}}}")
    };
    for (rest, is_off) in [
        ("valuesFile: values.yaml".to_owned(), true),
        (
            "additionalValuesFiles: [on.yaml, values.yaml]".to_owned(),
            true,
        ),
        (
            "additionalValuesFiles: [values.yaml, on.yaml]".to_owned(),
            false,
        ),
        (inline("false"), true),
        (
            format!("valuesFile: values.yaml, {}", inline("true")),
            false,
        ),
        (
            format!(
                "valuesFile: values.yaml, valuesMerge: merge, {}",
                inline("true")
            ),
            true,
        ),
        (
            format!(
                "valuesFile: values.yaml, valuesMerge: replace, {}",
                inline("true")
            ),
            false,
        ),
    ] {
        let on = REWRITE_OFF.replace("false", "true");
        let mut files = vec![("istio/kustomization.yaml", chart(&rest))];
        if rest.contains("on.yaml") {
            files.push(("istio/on.yaml", on));
        }
        if rest.contains("values.yaml") {
            files.push(("istio/values.yaml", REWRITE_OFF.to_owned()));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        assert_rewrite(&files, is_off);
        let explained = installed(&files)
            .run(&["predict", "--explain"])
            .exits(0)
            .stdout;
        assert!(explained.contains("1.28 (known)"), "{explained}");
    }
    let old = "helmChartInflationGenerator:\n- {chartName: istiod, chartRepoUrl: 'https://x.example', chartVersion: 1.28.1, valuesLocal: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}}\n";
    assert_rewrite(&[("istio/kustomization.yaml", old)], true);
}

#[test]
fn a_generated_mesh_configuration_is_read() {
    let list = "configMapGenerator:\n- {name: istio-sidecar-injector, namespace: istio-system, files: [values=injector.yaml]}\n";
    let values = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n";
    assert_rewrite(
        &[
            ("istio/kustomization.yaml", list),
            ("istio/injector.yaml", values),
        ],
        true,
    );
}
