//! Files that a template engine fills in are one note per chart or folder, and not errors.

use crate::support::findings;
use crate::support::project::Project;

/// A manifest with a line, or several, that a template engine replaces.
fn manifest(line: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  template:\n    spec:\n      containers:\n        \
         - name: web\n          image: registry.example/web:1\n{line}"
    )
}

/// Returns the rules and messages of the findings about a tree.
fn found(files: &[(&str, &str)], code: i32) -> Vec<(String, String)> {
    let project = Project::with(files);
    let run = project.run(&["check", "--output-format", "json"]);
    let found = findings(&run.exits(code));
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    found
        .iter()
        .filter(|finding| finding["suppressed"].is_null())
        .map(|finding| (text(&finding["rule"]), text(&finding["message"])))
        .collect()
}

#[test]
fn templates_of_a_folder_are_one_note_with_the_tag_of_their_engine() {
    for (line, tag) in [
        ("          {{ probe }}\n", "{{ … }}"),
        (
            "{% if probe %}\n          tty: true\n{% endif %}\n",
            "{% … %}",
        ),
        (
            "<% if probe %>\n          tty: true\n<% end %>\n",
            "<% … %>",
        ),
        ("          command: %{command}\n", "%{ … }"),
        ("          command: %%COMMAND%%\n", "%% … %%"),
        ("          command: @COMMAND@\n", "@ … @"),
        ("          ${PROBES}\n", "${ … }"),
        ("          <PROBES_OF_WEB>\n", "< … >"),
        ("          command: %COMMAND%\n", "% … %"),
        ("<#if probe>\n          tty: true\n</#if>\n", "<# … >"),
        ("GENERATED_PROBES\n", "GENERATED_PROBES"),
        ("$PROBES\n", "$PROBES"),
    ] {
        let text = manifest(line);
        let files = [("app/a.yaml", text.as_str()), ("app/b.yaml", &text)];
        let message =
            format!("the templates in `app` (`{tag}`) are not rendered: they were not checked");
        let expected = [("unrendered-template".to_owned(), message)];
        assert_eq!(found(&files, 0), expected, "{line}");
    }
}

/// kubectl does not read the text of a template, so its differences from YAML 1.2 do not matter.
#[test]
fn a_template_of_ytt_is_not_ambiguous() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: #@ name\n  annotations: {trim: \"\u{feff}\"}\n\
               spec: {containers: []}\n";
    let found = found(&[("app/pod.yaml", pod)], 0);
    let rules: Vec<&str> = found.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(rules, ["unrendered-template"]);
}

/// The values of ytt are in comments, so its templates are YAML with missing values.
#[test]
fn a_missing_value_with_an_expression_of_ytt_is_a_template() {
    let text = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n    - name: {name}\n      \
             image: registry.example/web:1\n      livenessProbe: {{httpGet: {{port: web}}}}\n"
        )
    };
    let template = found(&[("a.yaml", &text("#@ data.values.name"))], 0);
    let message = "`a.yaml` is an unrendered template (`#@ …`), not YAML: it was not checked";
    assert_eq!(
        template,
        [("unrendered-template".to_owned(), message.to_owned())]
    );
    for (name, rule) in [
        ("web #@ data.values.name", "named-port-unresolved"),
        ("'#@ data.values.name'", "container-name-invalid"),
        ("# data.values.name", "container-name-invalid"),
    ] {
        let found = found(&[("a.yaml", &text(name))], 1);
        assert_eq!(found[0].0, rule, "{found:?}");
    }
}

/// YAML reads a token that starts with `#` as a comment, and its value as missing.
#[test]
fn a_token_that_is_a_comment_in_yaml_is_a_template() {
    let text = |port: &str| {
        manifest(&format!(
            "          livenessProbe:\n            tcpSocket:\n              port: {port}\n"
        ))
    };
    for token in ["#{port}#", "#{Port}"] {
        let found = found(&[("a.yaml", &text(token))], 0);
        assert_eq!(found[0].0, "unrendered-template", "{found:?}");
    }
    let found = found(&[("a.yaml", &text("#{a: b}"))], 1);
    assert_eq!(found[0].0, "probe-port-out-of-range", "{found:?}");
}

/// A statement can be the cause of an error behind it.
#[test]
fn both_branches_of_a_condition_are_a_template() {
    let text = manifest(
        "          args:\n{{- if args }}\n            - a\n{{- else }}\n            a: b\n{{- end }}\n",
    );
    let found = found(&[("a.yaml", &text)], 0);
    assert_eq!(found[0].0, "unrendered-template", "{found:?}");
}

/// The placeholder is not the reason for the error, so the file is a manifest with an error.
#[test]
fn a_manifest_with_a_placeholder_and_an_error_is_an_error() {
    for line in [
        "          command: ${COMMAND}\n          args: [\n",
        "          # <% a comment %>\n          args: [\n",
        "          args: [\"%{A}\"\n",
        "EOF\n",
        "          # {{ a comment }}\n          args: [\n",
        "          command: \"{{ command }}\"\n          args: [\n",
        "          command:\n            - |\n              echo {{ it's }}\n              # {{ echo }}\n          \
         args: [\n",
        "          tty: true\n         command: [a]\n          args: {{ args }}\n",
    ] {
        let text = manifest(line);
        let found = found(&[("app/a.yaml", &text)], 1);
        let rules: Vec<_> = found.iter().map(|(rule, _)| rule.as_str()).collect();
        assert_eq!(rules, ["syntax-error"], "{line}");
    }
}

#[test]
fn a_tag_in_a_value_does_not_make_a_template() {
    let text = manifest(
        "          args: [\"<% x %>\", \"${A}\"]\n          livenessProbe: {httpGet: {port: web}}\n",
    );
    let found = found(&[("app/a.yaml", &text)], 1);
    assert_eq!(found[0].0, "named-port-unresolved", "{found:?}");
}

#[test]
fn a_file_in_a_folder_with_templates_is_checked() {
    let template = manifest("<% if probe %>\n<% end %>\n");
    let other = manifest("          livenessProbe: {httpGet: {port: web}}\n");
    let files = [
        ("app/a.yaml", template.as_str()),
        ("app/b.yaml", &other),
        ("app/c.yaml", &template),
    ];
    let rules: Vec<_> = found(&files, 1).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, ["unrendered-template", "named-port-unresolved"]);
}

/// Every command names a chart once, whatever the number of its templates is.
#[test]
fn templates_of_a_chart_are_one_note_in_every_command() {
    let template = manifest("          tty: {{ .Values.tty }}\n");
    let project = Project::with(&[
        ("one/Chart.yaml", "apiVersion: v2\nname: one\n"),
        ("one/templates/a.yaml", &template),
        ("one/templates/deep/b.yaml", &template),
        ("one/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\n"),
        ("one/charts/sub/templates/c.yaml", &template),
        ("two/Chart.yaml", "apiVersion: v2\nname: two\n"),
        ("two/templates/a.yaml", &template),
    ]);
    for arguments in [&["check"][..], &["predict"], &["rewrite", "--diff"]] {
        let run = project.run(arguments).exits(0);
        let output = format!("{}{}", run.stdout, run.stderr);
        for chart in ["one", "two"] {
            let message =
                format!("the chart in `{chart}` is not rendered: its templates were not checked");
            assert_eq!(output.matches(&message).count(), 1, "{output}");
        }
        assert_eq!(
            output.matches("note[unrendered-template]").count(),
            2,
            "{output}"
        );
        assert!(output.contains("the first of 3 templates"), "{output}");
    }
}

/// A note about several templates is not suppressed by the configuration for one of them.
#[test]
fn ignoring_one_template_does_not_ignore_the_others() {
    let template = manifest("<% if probe %>\n<% end %>\n");
    let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  ignore:\n    - \
                  {rule: unrendered-template, path: app/a.yaml, reason: known}\n";
    let files = [
        ("app/a.yaml", template.as_str()),
        ("app/b.yaml", &template),
        (".meshprobe.yaml", config),
    ];
    let message =
        "`app/b.yaml` is an unrendered template (`<% … %>`), not YAML: it was not checked";
    let expected = ("unrendered-template".to_owned(), message.to_owned());
    assert_eq!(found(&files, 0), [expected]);
}

#[test]
fn the_summary_names_the_templates_of_a_folder_once() {
    let template = manifest("<% if probe %>\n<% end %>\n");
    let project = Project::with(&[("app/a.yaml", &template), ("app/b.yaml", &template)]);
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("not judged: 2 templates")
        .stdout_contains("Not judged: app/a.yaml:1: the first of 2 templates in its folder: ");
}
