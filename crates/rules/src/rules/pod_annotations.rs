//! Rules for annotations and labels with a wrong name, value or place.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_mesh::mesh::istio::{keys, known_keys};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Scalar, Step, Value};

use crate::rules::RuleContext;
use crate::rules::probe_fields::quote_value;
use crate::rules::support::pod_metadata::{self, MetadataMap, keep_selected, keeping_comment};
use crate::rules::support::similar_names::is_close_key;
use crate::rules::support::{disable_rewrite, fix_safety};

crate::rules::rule::rules! {
    ANNOTATION_BAD_BOOLEAN = "annotation-bad-boolean", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().filter_map(|pod| annotation_bad_boolean(cx, pod)).collect();
    ANNOTATION_NAME_TYPO = "annotation-name-typo", Error, fix: Sometimes, scope: Workloads, check_annotation_name_typo;
    ANNOTATION_NOT_A_STRING = "annotation-not-a-string", Error, fix: Always, scope: Tree,
        check_annotation_not_a_string;
    ANNOTATION_ON_WORKLOAD_METADATA = "annotation-on-workload-metadata", Error, fix: Always, scope: Workloads,
        |cx| cx.pods().flat_map(|pod| misplaced(cx, pod)).collect();
}

fn annotation_bad_boolean(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.annotation(keys::REWRITE_PROBERS)?;
    let word = entry.value.text()?;
    // The API server refuses a value that is not a string: rule `annotation-not-a-string` reports it.
    entry.value.as_str()?;
    if parse_bool(word).is_some() || placeholder::contains(word) {
        return None;
    }
    let default = cx.context.pod_facts(workload).rewrite_default();
    let state = if default.value { "on" } else { "off" };
    let message = format!(
        "`{}: \"{word}\"` is not a boolean: Istio ignores it, and the probe rewrite stays {state}",
        keys::REWRITE_PROBERS
    );
    let mut finding =
        ANNOTATION_BAD_BOOLEAN.finding_on_workload(workload, entry.value.span(), message);
    let intended = intended_value(word);
    if intended == Some(default.value) {
        finding.severity = finding.severity.lowered();
    }
    finding.field = Some(
        workload
            .template
            .within
            .child("metadata")
            .child("annotations")
            .child(keys::REWRITE_PROBERS)
            .to_string(),
    );
    let wanted = intended.unwrap_or(false).to_string();
    finding.help = Some("set it to `\"true\"` or `\"false\"`, in quotes".to_owned());
    let object = &workload.object;
    finding.fix = intended.map(|_| {
        Fix::of_object(
            object,
            format!("set the value to `\"{wanted}\"`, the evident meaning of `{word}`"),
            Applicability::unsafe_because(format!(
                "the annotation then takes effect: the rewrite is {} for the pod",
                if intended == Some(true) { "on" } else { "off" }
            )),
            vec![Change::set(
                workload.template.annotation_route(keys::REWRITE_PROBERS),
                wanted,
            )],
        )
    });
    if intended == Some(false) {
        disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
    }
    Some(finding)
}

/// Returns the value that the author of a word evidently intended.
fn intended_value(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "enabled" | "enable" => Some(true),
        "false" | "no" | "n" | "off" | "disabled" | "disable" => Some(false),
        _ => None,
    }
}

/// The labels of a pod that Istio reads.
const LABELS: [&str; 3] = [keys::INJECT, keys::REVISION, keys::DATAPLANE_MODE];

fn check_annotation_name_typo(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let places = [MetadataMap::Annotation, MetadataMap::Label];
    cx.pods()
        .flat_map(|pod| {
            places
                .into_iter()
                .flat_map(|place| annotation_name_typo(cx, pod, place))
        })
        .collect()
}

fn annotation_name_typo(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    place: MetadataMap,
) -> Vec<Finding> {
    let workload = &pod.workload;
    place
        .of(&workload.template)
        .into_iter()
        .flat_map(NodeRef::effective_entries)
        .filter_map(|entry| {
            let key = entry.key.text()?;
            let meant = intended_key(place, key)?;
            let word = place.word();
            let message =
                format!("unknown Istio {word} `{key}`: Istio ignores it, so it has no effect");
            let mut finding = pod_metadata::finding_on_entry(
                &ANNOTATION_NAME_TYPO,
                workload,
                place,
                entry,
                message,
            );
            finding.primary = workload.object.label_at(entry.key.span(), "");
            finding.help = Some(format!("did you mean `{meant}`?"));
            let is_free = place.of(&workload.template)?.get(meant).is_none();
            finding.fix = is_free.then(|| fix(workload, place, key, meant)).flatten();
            let off = entry.value.text().and_then(parse_bool) == Some(false);
            if place == MetadataMap::Annotation && meant == keys::REWRITE_PROBERS && off {
                disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
            }
            if place == MetadataMap::Label {
                keep_selected(cx.context, key, &mut finding);
            }
            Some(finding)
        })
        .collect()
}

fn fix(workload: &Workload<'_>, place: MetadataMap, key: &str, meant: &str) -> Option<Fix> {
    let template = &workload.template;
    let value = place.of(template)?.get(key)?.text()?;
    let change = Change::replace(
        pod_metadata::route(template, place, key),
        meant.to_owned(),
        value,
    );
    let title = format!("rename it to `{meant}`");
    Some(Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because(format!("`{meant}` then takes effect")),
        vec![change],
    ))
}

/// Returns the name that the author of a key likely intended, if the key is under `istio.io` and not known.
fn intended_key(place: MetadataMap, key: &str) -> Option<&'static str> {
    let (domain, _) = key.split_once('/')?;
    let is_istio = domain == "istio.io" || domain.ends_with(".istio.io");
    if !is_istio || known_keys::KNOWN.contains(&key) {
        return None;
    }
    let known: &[&'static str] = match place {
        MetadataMap::Annotation => known_keys::KNOWN,
        MetadataMap::Label => &LABELS,
    };
    let common_mistake = known_keys::MISTAKEN
        .iter()
        .find(|(wrong, _)| *wrong == key)
        .map(|(_, right)| *right);
    let similar = || known.iter().copied().find(|known| is_close_key(key, known));
    common_mistake
        .filter(|right| known.contains(right))
        .or_else(similar)
}

fn check_annotation_not_a_string(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let object_metadata = || FieldPath::keys(&["metadata"]);
    let mut findings: Vec<Finding> = cx
        .namespaces()
        .flat_map(|namespace| {
            annotation_not_a_string(cx, namespace, namespace.metadata(), object_metadata, || {
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
        findings.extend(annotation_not_a_string(
            cx,
            object,
            metadata,
            template_metadata,
            may_fix_safely,
        ));
        if template.node != object.node {
            findings.extend(annotation_not_a_string(
                cx,
                object,
                object.metadata(),
                object_metadata,
                may_fix_safely,
            ));
        }
        if object.kind == "CronJob" {
            let job_metadata = || FieldPath::keys(&["spec", "jobTemplate", "metadata"]);
            findings.extend(annotation_not_a_string(
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
fn annotation_not_a_string(
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
    let mut finding =
        ANNOTATION_NOT_A_STRING.finding_on_deployed(object, entry.value.span(), message);
    let route = holder.child(key.to_owned());
    finding.field = Some(route.to_string());
    if is_variable {
        let place = object.label_at(entry.key.span(), format!("this {word} takes the value"));
        finding.relate(place);
        finding.help = Some(format!(
            "kustomize removes the quotes around the variable before Flux fills it in: write the value of the variable as \
             `'\"{text}\"'`, or the {word} as `${{quote}}${{NAME}}${{quote}}` with the variable `quote: '\"'`"
        ));
        return Some(finding);
    }
    let value = (object.route.join(&route), entry.value);
    let title = format!("set the value to `\"{text}\"`");
    quote_value(&mut finding, object, value, &title);
    if let Some(fix) = finding.fix.as_mut().filter(|_| !may_fix_safely) {
        fix.limit_to(fix_safety::pre_rewritten());
    }
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
        .filter(|_| object.rendered_by.is_some());
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

fn misplaced<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let mut findings = Vec::new();
    if takes_metadata_from_template(workload) {
        for metadata in metadata_routes(workload) {
            let node = workload.object.node.at(&metadata);
            let of = |key: &str| node.and_then(|node| node.get(key));
            let route = || metadata.child("annotations");
            for entry in wanted(of("annotations"), is_pod_key) {
                findings.extend(annotation_on_workload_metadata(cx, pod, entry, &route()));
            }
            let route = || metadata.child("labels");
            for entry in wanted(of("labels"), |key| key == keys::INJECT) {
                findings.extend(annotation_on_workload_metadata(cx, pod, entry, &route()));
            }
        }
    }
    let route = || workload.template.within.child("metadata").child("labels");
    for entry in wanted(workload.template.labels(), is_annotation_only) {
        findings.extend(annotation_on_workload_metadata(cx, pod, entry, &route()));
    }
    findings
}

/// Returns the entries whose key satisfies `is_wanted`.
fn wanted(node: Option<NodeRef<'_>>, is_wanted: impl Fn(&str) -> bool) -> Vec<Entry<'_>> {
    let entries = node.into_iter().flat_map(NodeRef::effective_entries);
    entries
        .filter(|entry| entry.key.text().is_some_and(&is_wanted))
        .collect()
}

/// Returns whether a workload is of a built-in kind or of one that is known to copy the metadata of its pods from
/// the pod template. How other controllers use their metadata is not known.
fn takes_metadata_from_template(workload: &Workload<'_>) -> bool {
    let object = &workload.object;
    matches!(
        (object.group(), object.kind),
        (
            "apps" | "extensions",
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        ) | ("batch", "Job" | "CronJob")
            | ("", "ReplicationController")
            | ("argoproj.io", "Rollout")
            | ("apps.openshift.io", "DeploymentConfig")
    )
}

fn metadata_routes(workload: &Workload<'_>) -> Vec<FieldPath> {
    let mut routes = vec![FieldPath::keys(&["metadata"])];
    if workload.object.kind == "CronJob" {
        routes.push(FieldPath::keys(&["spec", "jobTemplate", "metadata"]));
    }
    routes
}

fn is_pod_key(key: &str) -> bool {
    known_keys::POD_KEYS
        .iter()
        .any(|prefix| key.starts_with(prefix))
}

/// Returns whether a label key is valid only as an annotation. A typo in the name of a label is excluded: rule
/// `annotation-name-typo` reports it.
fn is_annotation_only(key: &str) -> bool {
    key != keys::INJECT && is_pod_key(key) && intended_key(MetadataMap::Label, key).is_none()
}

fn annotation_on_workload_metadata<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    entry: Entry<'t>,
    route: &FieldPath,
) -> Option<Finding> {
    let key = entry.key.text()?;
    let workload = &pod.workload;
    let template = &workload.template;
    let is_set_correctly = template.annotation(key).is_some()
        || (key == keys::INJECT && template.label(key).is_some());
    if is_set_correctly {
        return None;
    }
    let object = &workload.object;
    let reason = if route.steps().last() == Some(&"labels".into()) && key != keys::INJECT {
        "as a label: Istio reads it as an annotation".to_owned()
    } else {
        let holder = match route.steps().first() {
            Some(Step::Key(key)) if key == "spec" => "job template of the ",
            _ => "",
        };
        format!(
            "on the metadata of the {holder}{}: Istio reads only the pod template",
            object.kind
        )
    };
    let message = format!("`{key}` has no effect {reason}");
    let mut finding =
        ANNOTATION_ON_WORKLOAD_METADATA.finding_on_workload(workload, entry.key.span(), message);
    finding.field = Some(route.child(key.to_owned()).to_string());
    let target = if key == keys::INJECT {
        "labels"
    } else {
        "annotations"
    };
    let right = template.within.child("metadata").child(target);
    finding.help = Some(format!("move it to `{right}`, where it takes effect"));
    finding.fix = Some(move_fix(workload, entry, route, key, target));
    if route.steps().last() == Some(&"labels".into()) {
        keep_selected(cx.context, key, &mut finding);
    }
    if key == keys::REWRITE_PROBERS && entry.value.text().and_then(parse_bool) == Some(false) {
        disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
    }
    Some(finding)
}

fn move_fix(
    workload: &Workload<'_>,
    entry: Entry<'_>,
    route: &FieldPath,
    key: &str,
    target: &'static str,
) -> Fix {
    let object = &workload.object;
    let value = Value::from(entry.value.text().unwrap_or_default());
    let holder = object.node.at(route);
    let is_last = holder.is_some_and(|node| node.entries().len() == 1 && !node.has_merge_key());
    let from = object.route.join(route);
    let from = if is_last {
        from
    } else {
        from.child(key.to_owned())
    };
    let to = workload
        .template
        .route
        .child("metadata")
        .child(target)
        .child(key.to_owned());
    let wanted = Applicability::unsafe_because(format!("`{key}` then takes effect for the pods"));
    let applicability = keeping_comment(entry, wanted);
    let changes = vec![
        Change::Remove { route: from },
        Change::Set { route: to, value },
    ];
    Fix::of_object(
        object,
        format!("move `{key}` to the pod template"),
        applicability,
        changes,
    )
}
