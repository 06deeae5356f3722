//! Rule `annotation-not-a-string`, documented in `docs/rules/annotation-not-a-string.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Scalar, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::fix_safety;

declare_rule! {
    "annotation-not-a-string", Error, fix: Always, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let object_metadata = || FieldPath::keys(&["metadata"]);
    let mut findings: Vec<Finding> = cx
        .namespaces()
        .flat_map(|namespace| {
            report(cx, namespace, namespace.metadata(), object_metadata, || {
                true
            })
        })
        .collect();
    for pod in cx.pods() {
        let object = &pod.workload.object;
        let template = &pod.workload.template;
        let may_fix_safely = || !pod.is_prerewritten();
        let template_metadata = || template.within.child("metadata");
        let metadata = template.node.get("metadata");
        findings.extend(report(
            cx,
            object,
            metadata,
            template_metadata,
            may_fix_safely,
        ));
        if template.node != object.node {
            findings.extend(report(
                cx,
                object,
                object.metadata(),
                object_metadata,
                may_fix_safely,
            ));
        }
        if object.kind == "CronJob" {
            let job_metadata = || FieldPath::keys(&["spec", "jobTemplate", "metadata"]);
            findings.extend(report(
                cx,
                object,
                object.node.at(&job_metadata()),
                job_metadata,
                may_fix_safely,
            ));
        }
    }
    findings
}

/// Reports the labels and annotations of one metadata mapping that are not strings. `route` returns the path of the
/// mapping, and `may_fix_safely` whether the fix of a plain value is safe.
fn report(
    cx: &RuleContext<'_, '_>,
    object: &Object<'_>,
    metadata: Option<NodeRef<'_>>,
    route: impl Fn() -> FieldPath,
    may_fix_safely: impl Fn() -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (holder, word) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = metadata
            .and_then(|metadata| metadata.get(holder))
            .into_iter()
            .flat_map(NodeRef::entries);
        for entry in entries.filter(is_not_a_string) {
            let route = route().child(holder);
            findings.extend(finding(cx, object, &route, entry, word, may_fix_safely()));
        }
    }
    findings
}

fn is_not_a_string(entry: &Entry<'_>) -> bool {
    let scalar = entry.value.scalar();
    scalar.is_some_and(|scalar| !matches!(scalar, Scalar::Str(_) | Scalar::Null))
}

fn finding(
    cx: &RuleContext<'_, '_>,
    object: &Object<'_>,
    holder: &FieldPath,
    entry: Entry<'_>,
    word: &str,
    may_fix_safely: bool,
) -> Option<Finding> {
    let key = entry.key.text().filter(|_| !entry.key.is_merge_key())?;
    let scalar = entry.value.scalar()?;
    let text = entry.value.text()?;
    let is_variable = is_variable(cx, object, entry.value, text);
    if !is_variable && quoted_by_kustomize(object, holder, text) {
        return None;
    }
    let message = format!(
        "{word} `{key}` must be a string, but `{text}` is {}: the API server refuses {} `{}`",
        scalar.type_name(),
        object.kind,
        object.name(),
    );
    let mut finding = RULE.finding_on_deployed(object, entry.value.span(), message);
    let route = holder.child(key.to_owned());
    finding.field = Some(route.to_string());
    if is_variable {
        let place = object.label_at(entry.key.span(), format!("this {word} takes the value"));
        finding.related.push(place);
        finding.help = Some(format!(
            "kustomize removes the quotes around the variable before Flux fills it in: write the value of the variable as \
             `'\"{text}\"'`, or the {word} as `${{quote}}${{NAME}}${{quote}}` with the variable `quote: '\"'`"
        ));
        return Some(finding);
    }
    finding.help = Some(format!("quote the value: `\"{text}\"`"));
    let is_plain = match scalar {
        Scalar::Bool(value) => value.to_string() == text,
        Scalar::Int(value) => value.to_string() == text,
        _ => false,
    };
    let applicability = if !is_plain {
        Applicability::unsafe_because(format!(
            "`{text}` is not the usual spelling of the value, and another text may be intended"
        ))
    } else if may_fix_safely {
        Applicability::Safe
    } else {
        fix_safety::pre_rewritten()
    };
    let change = Change::Set {
        route: object.route.join(&route),
        value: Value::from(text),
    };
    finding.fix = Some(Fix::of_object(
        object,
        format!("set the value to `\"{text}\"`"),
        applicability,
        vec![change],
    ));
    Some(finding)
}

/// Returns whether Flux fills in a value: the file of the user does not contain it in this form.
///
/// Source: `varSubstitution` in `kustomize/kustomize_varsub.go` of fluxcd/pkg, which replaces text in the output of
/// kustomize; "Post build substitution of numbers and booleans" of `docs/spec/v1/kustomizations.md` of
/// kustomize-controller.
fn is_variable(
    cx: &RuleContext<'_, '_>,
    object: &Object<'_>,
    value: NodeRef<'_>,
    text: &str,
) -> bool {
    let place = object.label_at(value.span(), "");
    let file = cx
        .context
        .sources
        .file(&place.path)
        .filter(|_| object.provenance.is_some());
    file.is_some_and(|file| {
        let written = place.span.slice(&file.text);
        written != text || file.documents.is_empty()
    })
}

/// Returns whether kustomize (5.8, measured) quotes a value itself. It quotes all annotations of an object, but not
/// those of its pod template, and words that are booleans only in YAML 1.1.
fn quoted_by_kustomize(object: &Object<'_>, holder: &FieldPath, text: &str) -> bool {
    let of_object = *holder == FieldPath::keys(&["metadata", "annotations"]);
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_boolean = matches!(text.to_ascii_lowercase().as_str(), "true" | "false");
    object.rendered_by.is_some() && (of_object || (is_word && !is_boolean))
}
