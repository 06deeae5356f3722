//! The forms of a rewrite: what carries the prober env, and whether the rewrite also opts out of the rewrite of the webhook.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{Certainty, GuardId};
use meshprobe_mesh::kube::{Container, ContainerList};
use meshprobe_mesh::mesh::istio::proxy_config::{ProxyConfig, escape};
use meshprobe_mesh::mesh::istio::{keys, known_keys, prober_json};
use meshprobe_mesh::mesh::{Mesh, Version, is_newer_than_proven};
use meshprobe_mesh::settings::{Form, FormChoice};
use meshprobe_predict::context::{Context, ProberEnvPlace, proxy_config, proxy_container};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{
    Change, FieldPath, NodeRef, Span, Style, Tree, Value, apply_embedded, splice,
};

use crate::rewrite::container_only;
use crate::rewrite::plan::{GuardFailure, name_span, refuse};

/// How one pod is written: in the requested form, or in the form that it already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RewriteForm {
    pub(super) form: Form,
    /// What carries the env.
    pub(super) place: EnvCarrier,
    /// Whether the rewritten pod opts out of the webhook's rewrite.
    pub(super) opts_out: bool,
    /// Why `auto` chose a new container.
    pub(super) reason: Option<ContainerReason>,
}

/// What carries the prober env.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnvCarrier {
    /// The annotation `proxy.istio.io/config`.
    Annotation,
    /// The `istio-proxy` container of the manifest.
    Container,
    /// An `istio-proxy` container that is added.
    NewContainer,
}

impl RewriteForm {
    /// Decides how to write `pod`. The user requests a form with `choice`; a pod that is already rewritten keeps its
    /// carrier, because two carriers would give the sidecar two prober envs.
    pub(super) fn of(
        choice: FormChoice,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Self {
        let chosen = ChosenForm::of(choice, context, pod);
        let form = match existing_form(pod) {
            Some(Form::Annotation) => Form::Annotation,
            Some(existing) if choice == FormChoice::Auto => existing,
            Some(Form::Container) if chosen.form == Form::ContainerOnly => Form::Container,
            _ => chosen.form,
        };
        let in_annotation = pod
            .prober_env
            .as_ref()
            .is_some_and(|env| env.place == ProberEnvPlace::ProxyMetadata);
        let place = if in_annotation {
            EnvCarrier::Annotation
        } else if proxy_container(&pod.workload).is_some() {
            EnvCarrier::Container
        } else if form == Form::Annotation {
            EnvCarrier::Annotation
        } else {
            EnvCarrier::NewContainer
        };
        Self {
            form,
            place,
            opts_out: form != Form::ContainerOnly || !pod.rewrite.value,
            reason: chosen.reason.filter(|_| place == EnvCarrier::NewContainer),
        }
    }

    /// Returns the port that the rewritten probes target. With the opt-out the injector does not change them, so it is
    /// the port of the agent. Without it, the injector sets the port itself, and treats only probes at the status port
    /// of the mesh as rewritten.
    pub(super) fn port(self, context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> i64 {
        if self.opts_out {
            pod.status_port.value
        } else {
            context.pod_facts(&pod.workload).mesh_status_port().value
        }
    }

    /// Returns a refusal for each probe that already targets the agent and would break in this form.
    pub(super) fn loops(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Vec<GuardFailure> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::loops(context, pod)
    }

    /// Returns the refusals that apply only to this form. `wanted` are the handlers to rewrite.
    pub(super) fn refusals(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
        wanted: &[&HandlerPrediction<'_>],
    ) -> Vec<GuardFailure> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::refusals(context, pod, wanted)
    }

    /// Returns the changes that add `probers` to the prober env of the sidecar and, if the form requires it, switch off
    /// the webhook's rewrite.
    pub(super) fn set_prober_env(
        self,
        pod: &WorkloadPrediction<'_>,
        probers: BTreeMap<String, String>,
    ) -> Result<Vec<Change>, GuardFailure> {
        let json = prober_json::object(&merged(pod, probers)?);
        let mut changes = Vec::new();
        if self.form != Form::ContainerOnly {
            changes.push(opt_out(pod));
        }
        changes.push(match (self.place, proxy_container(&pod.workload)) {
            (EnvCarrier::Annotation, _) => set_annotation_env(pod, &json)?,
            (_, Some(proxy)) => set_container_env(&proxy, json),
            (_, None) => add_container_env(pod, json),
        });
        Ok(changes)
    }
}

/// Returns the form of a pod whose manifest shows that meshprobe rewrote it.
pub(super) fn existing_form(pod: &WorkloadPrediction<'_>) -> Option<Form> {
    let env = pod.prober_env.as_ref()?;
    if env.place == ProberEnvPlace::ProxyMetadata {
        return Some(Form::Annotation);
    }
    let containers = pod.workload.template.containers_in(ContainerList::Main);
    let last = containers.last()?;
    let keys: Vec<&str> = last
        .node
        .entries()
        .filter_map(|entry| entry.key.text())
        .collect();
    let is_only_variable = last.node.get("env").map(NodeRef::items)?.count() == 1;
    let is_ours = last.name() == keys::PROXY_CONTAINER
        && last.image() == Some(IMAGE)
        && keys == ["name", "image", "env"]
        && is_only_variable;
    let form = if pod.rewrite.value {
        Form::ContainerOnly
    } else {
        Form::Container
    };
    is_ours.then_some(form)
}

/// Returns the change that sets the opt-out.
pub(super) fn opt_out(pod: &WorkloadPrediction<'_>) -> Change {
    Change::set(
        pod.workload
            .template
            .annotation_route(keys::REWRITE_PROBERS),
        "false",
    )
}

/// Adds `probers` to the entries of the pod's prober env.
///
/// # Errors
/// A refusal if an existing entry has another value.
pub(super) fn merged(
    pod: &WorkloadPrediction<'_>,
    probers: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, GuardFailure> {
    let Some(env) = &pod.prober_env else {
        return Ok(probers);
    };
    let mut all = env.probers.clone().unwrap_or_default();
    for (key, json) in probers {
        match all.get(&key) {
            Some(existing) if *existing != json => {
                let message = format!(
                    "its `{}` already contains another entry `{key}`",
                    keys::PROBERS_ENV
                );
                return Err(refuse(GuardId::PROBER_ENV_CONFLICT, env.span, message));
            }
            _ => {
                all.insert(key, json);
            }
        }
    }
    Ok(all)
}

/// Why `auto` chooses the form `container`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerReason {
    /// The release is unknown.
    ReleaseUnknown,
    /// The release is newer than the newest one that the oracle has compared.
    ReleaseNotProven(Version),
    /// A custom injection template may not pass `proxyMetadata` to the sidecar.
    CustomTemplate,
    /// An injection template that is not defined in the tree may not pass `proxyMetadata` to the sidecar.
    UnknownTemplate,
    /// The control plane is a fork, with an injection template of its own that the oracle has not compared.
    Fork,
}

/// The form for a pod that is not rewritten yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChosenForm {
    pub(super) form: Form,
    /// Why `auto` chose `container`; `None` if the user named the form or `auto` chose `annotation`.
    pub(super) reason: Option<ContainerReason>,
}

impl ChosenForm {
    /// Returns the form that `choice` means for `pod`.
    pub(super) fn of(
        choice: FormChoice,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Self {
        if let FormChoice::Fixed(form) = choice {
            return Self { form, reason: None };
        }
        let reason = container_reason(context, pod);
        let form = match reason {
            Some(_) => Form::Container,
            None => Form::Annotation,
        };
        Self { form, reason }
    }
}

fn container_reason(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<ContainerReason> {
    if let Some(templates) = SelectedTemplates::of(context, pod) {
        if templates.custom(context, pod).is_some() {
            return Some(ContainerReason::CustomTemplate);
        }
        if templates.unknown().is_some() {
            return Some(ContainerReason::UnknownTemplate);
        }
    }
    let planes = context.pod_facts(&pod.workload).installation();
    if planes.candidates.iter().any(|plane| plane.is_fork()) {
        return Some(ContainerReason::Fork);
    }
    match pod.release.value {
        Some(release) if pod.release.certainty > Certainty::Unknown => {
            is_newer_than_proven(Mesh::ISTIO, release)
                .then_some(ContainerReason::ReleaseNotProven(release))
        }
        _ => Some(ContainerReason::ReleaseUnknown),
    }
}

/// Returns the change that writes the env into the annotation and keeps its other content.
pub(super) fn set_annotation_env(
    pod: &WorkloadPrediction<'_>,
    json: &str,
) -> Result<Change, GuardFailure> {
    let template = &pod.workload.template;
    let route = template.annotation_route(keys::PROXY_CONFIG);
    let Some(entry) = template.annotation(keys::PROXY_CONFIG) else {
        let value = Value::Block(new_text(&escape(json)));
        return Ok(Change::Set { route, value });
    };
    let refusal = |reason: String| {
        let message = format!("cannot extend `{}`: {reason}", keys::PROXY_CONFIG);
        refuse(GuardId::PROXY_CONFIG_INVALID, entry.key.span(), message)
    };
    let config = proxy_config(&pod.workload);
    let tree = config.as_ref().and_then(ProxyConfig::tree);
    let text = match (&config, tree) {
        (Some(config), Some(tree)) => {
            merge_into(tree, config.metadata_key(), escape(json)).map_err(refusal)?
        }
        _ => {
            // The annotation contains only comments.
            let kept = entry.value.text().unwrap_or_default().trim_end();
            let line_break = if kept.is_empty() { "" } else { "\n" };
            format!("{kept}{line_break}{}", new_text(&escape(json)))
        }
    };
    let written = ProxyConfig::parse(&text).ok();
    let written = written.filter(|config| config.fault(pod.release.value).is_none());
    if written.and_then(|config| config.probers()) != Some(Ok(json.to_owned())) {
        return Err(refusal(
            "the injector would not read the new entry".to_owned(),
        ));
    }
    let is_block = matches!(entry.value.style(), Style::Literal | Style::Folded);
    let value = if tree.is_none() || is_block || text.contains('\n') {
        Value::Block(text)
    } else {
        Value::Str(text)
    };
    Ok(Change::Set { route, value })
}

/// Returns the text of a new annotation, in the layout that a person would use.
fn new_text(escaped: &str) -> String {
    let quoted = escaped.replace('\'', "''");
    format!("proxyMetadata:\n  {}: '{quoted}'\n", keys::PROBERS_ENV)
}

/// Adds the env to the mapping at `key` of the embedded document and keeps the layout of the document.
fn merge_into(tree: &Tree, key: &str, escaped: String) -> Result<String, String> {
    if !tree.root().is_some_and(NodeRef::is_mapping) {
        return Err("it is not a mapping".to_owned());
    }
    let route = FieldPath::root()
        .child(key.to_owned())
        .child(keys::PROBERS_ENV);
    let change = Change::set(route, escaped);
    let edits = apply_embedded(tree, &[change]).map_err(|error| error.reason)?;
    Ok(splice(tree.text(), &edits))
}

/// Sets the env of the container, or replaces its value.
pub(super) fn set_container_env(proxy: &Container<'_>, json: String) -> Change {
    match proxy.env(keys::PROBERS_ENV) {
        Some(variable) => Change::set(variable.route.child("value"), json),
        None => Change::push(proxy.route.child("env"), variable(json)),
    }
}

/// Returns the entry of `env`.
pub(super) fn variable(json: String) -> Value {
    Value::Map(vec![
        ("name".to_owned(), Value::from(keys::PROBERS_ENV)),
        ("value".to_owned(), Value::Str(json)),
    ])
}

/// The image name that the injector replaces with its own.
pub(super) const IMAGE: &str = "auto";

/// Returns the change that adds the container.
pub(super) fn add_container_env(pod: &WorkloadPrediction<'_>, json: String) -> Change {
    let list = ContainerList::Main.key();
    Change::push(
        pod.workload.template.route.child("spec").child(list),
        Value::Map(vec![
            ("name".to_owned(), Value::from(keys::PROXY_CONTAINER)),
            ("image".to_owned(), Value::from(IMAGE)),
            ("env".to_owned(), Value::Seq(vec![variable(json)])),
        ]),
    )
}

/// The templates that a pod is injected with.
pub(super) struct SelectedTemplates {
    pub(super) names: Vec<String>,
    /// Where they are selected; the name of the workload if that is in another file.
    pub(super) span: Span,
}

impl SelectedTemplates {
    /// Returns the templates that the annotation names, or else those of the installation. An alias represents several.
    pub(super) fn of(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Self> {
        let install = context.pod_facts(&pod.workload).installation();
        let (names, span) = if let Some(entry) = pod.workload.template.annotation(keys::TEMPLATES) {
            let names = entry
                .value
                .text()?
                .split(',')
                .map(|name| name.trim().to_owned());
            (names.collect::<Vec<_>>(), entry.value.span())
        } else {
            let defaults = install.fact(keys::TEMPLATES, |plane| plane.default_templates.as_ref());
            let names = defaults.map_or_else(|| vec!["sidecar".to_owned()], |fact| fact.value);
            (names, name_span(pod))
        };
        let planes = || install.candidates.iter().chain(&install.cluster);
        let expanded = names.into_iter().flat_map(|name| {
            let alias = planes()
                .flat_map(|plane| &plane.template_aliases)
                .find(|alias| alias.value.0 == name);
            alias.map_or_else(|| vec![name], |alias| alias.value.1.clone())
        });
        Some(Self {
            names: expanded.collect(),
            span,
        })
    }

    /// Returns the first template that is not one of Istio's own.
    pub(super) fn unknown(&self) -> Option<&String> {
        let is_own = |name: &str| known_keys::TEMPLATES.contains(&name);
        self.names.iter().find(|name| !is_own(name))
    }

    /// Returns the first template that an installation defines itself.
    pub(super) fn custom(
        &self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Option<&String> {
        let install = context.pod_facts(&pod.workload).installation();
        let planes = || install.candidates.iter().chain(&install.cluster);
        self.names.iter().find(|name| {
            planes()
                .flat_map(|plane| &plane.custom_templates)
                .any(|custom| custom.value == **name)
        })
    }
}
