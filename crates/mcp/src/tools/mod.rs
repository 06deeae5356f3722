//! The tools of the server. An error names the parameter.

mod input;
mod pages;
mod reports;

use std::sync::{Arc, LazyLock};

use meshprobe_mesh::settings::most_similar;
use rmcp::model::{JsonObject, Tool as ToolDescription, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ToolError;
use crate::page::without_missing;

pub(crate) use input::Call;

/// All tools, in the order in which clients see them.
pub(crate) static TOOLS: LazyLock<[Tool; 6]> = LazyLock::new(|| {
    [
        tool(
            "check",
            "Check probes",
            "Finds Kubernetes health probes that a service mesh (Istio, Linkerd, Consul, Kuma, Cilium and others) \
         breaks: probes that will fail, that can never fail, or whose configuration the mesh ignores. Use it \
         first for questions such as \"why is this pod not ready\", \"why does the liveness probe restart the \
         container\" or \"is this manifest right\", before you read manifests yourself: it knows what each \
         release of the mesh does. Each finding has the outcome, the text that the kubelet prints, the \
         certainty, and the file and line of every fact that decides. No finding about an object in \
         `not_judged` means nothing. For probes that work, and for all details of one workload, use `predict`; \
         for a diff with the fix, `propose_fix`.",
            true,
            reports::check,
        ),
        tool(
            "predict",
            "Predict probes",
            "Predicts what a service mesh does to each health probe and lifecycle hook of the manifests: \
         whether the mesh rewrites it, which request the kubelet then sends, the outcome, the text that the \
         kubelet prints, and the file and line of every fact that decides. Use it to explain how one workload \
         behaves, also if nothing is wrong; set `workload` to limit the answer. To find faults in many \
         manifests, use `check`; to see the effect of a change, `what_if`.",
            true,
            reports::predict,
        ),
        tool(
            "explain_rule",
            "Explain a rule",
            "Returns the page of a rule of `check`, or of a guard of the rewrite: what it checks, why it matters, an \
         example, what to use instead, whether its fix is safe, and references. Use it to explain a finding, \
         instead of answering from memory. The page is also the resource `meshprobe://rules/<id>`.",
            false,
            pages::explain_rule,
        ),
        tool(
            "explain_symptom",
            "Explain an event",
            "Finds the page for the text of a failing probe or pod, as the kubelet, `kubectl describe pod` or a log \
         shows it: the possible causes, how to confirm each, and the fix. Use it first if the user pastes an \
         event or an error. It knows texts, not manifests: to find the cause that applies, continue with `check` \
         on the manifests. The page is also the resource `meshprobe://symptoms/<id>`.",
            false,
            pages::explain_symptom,
        ),
        tool(
            "what_if",
            "Compare two assumptions or revisions",
            "Predicts which probes change if a fact about the mesh changes, and how: for example `to: \
         [\"mtls=STRICT\"]` before mutual TLS is enforced, `from: [\"mesh-version=1.30\"], to: \
         [\"mesh-version=1.31\"]` before an upgrade, or `to: [\"dataplane=ambient\"]` with `select_namespace` \
         before a namespace is migrated. Use it for questions such as \"what breaks if\" and \"can we upgrade\". \
         Facts that are not named come from the manifests. With `since` instead, it compares revisions of git: \
         `since: \"HEAD\"` judges the edits that are not committed, `since: \"main\"` a branch, `since` and \
         `until` two revisions. Each change has the line that causes it in `because`.",
            true,
            reports::what_if,
        ),
        tool(
            "propose_fix",
            "Propose a fix",
            "Returns a unified diff that fixes findings of `check` (`kind: fix`, the default), or that applies the \
         mesh's rewrite of the probes to the manifests ahead of deployment (`kind: rewrite`). Writes nothing: \
         show the diff to the user, and apply it with your own tools after they agree. The diff equals that of \
         `meshprobe check --diff` and `meshprobe rewrite --diff`, is minimal, and keeps comments and formatting. \
         Use it instead of editing probes yourself, and call `check` again after the diff is applied. Unsafe \
         fixes, which may change running pods, are only included with `unsafe_fixes: true`; ask the user \
         first.",
            true,
            reports::propose_fix,
        ),
    ]
});

/// Returns the tool of a name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// A tool of the server.
pub(crate) struct Tool {
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Whether the tool reads files, so that it needs the roots of the client.
    pub reads_files: bool,
    input: Arc<JsonObject>,
    output: Arc<JsonObject>,
    call: AnswerCall,
}

type AnswerCall = Box<dyn Fn(&Call<'_>, &JsonObject) -> Result<Answer, ToolError> + Send + Sync>;

/// The content that follows the schema of a tool, and the same as text.
type Content<O> = (O, String);

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The content that follows the schema of the tool.
    pub structured: Value,
    /// The same for clients that only show text.
    pub text: String,
}

/// Creates a tool from the function that answers a call.
fn tool<I, O>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    reads_files: bool,
    call: fn(&Call<'_>, I) -> Result<Content<O>, ToolError>,
) -> Tool
where
    I: DeserializeOwned + JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
{
    let answer = move |used: &Call<'_>, arguments: &JsonObject| {
        let (content, text) = call(used, parse(arguments)?)?;
        let structured = without_missing(&content);
        Ok(Answer { structured, text })
    };
    Tool {
        name,
        title,
        description,
        reads_files,
        input: input::input::<I>(),
        output: input::output::<O>(),
        call: Box::new(answer),
    }
}

impl Tool {
    /// Answers a call.
    ///
    /// # Errors
    /// An argument is not valid, a path may not be read, or the command fails.
    pub(crate) fn answer(
        &self,
        call: &Call<'_>,
        arguments: &JsonObject,
    ) -> Result<Answer, ToolError> {
        reject_unknown(&self.input, arguments)?;
        (self.call)(call, arguments)
    }

    /// Returns the description for clients.
    pub(crate) fn description(&self) -> ToolDescription {
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        ToolDescription::new(self.name, self.description, Arc::clone(&self.input))
            .with_title(self.title)
            .with_raw_output_schema(Arc::clone(&self.output))
            .with_annotations(annotations)
    }
}

/// Rejects arguments that the schema does not have: a misspelt one would be ignored silently.
///
/// # Errors
/// An argument is not known.
fn reject_unknown(schema: &JsonObject, arguments: &JsonObject) -> Result<(), ToolError> {
    let known: Vec<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let Some(unknown) = arguments
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    else {
        return Ok(());
    };
    let help = match most_similar(unknown, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("expected one of {}", names.join(", "))
        }
    };
    Err(ToolError::new(format!("unknown parameter `{unknown}`")).help(help))
}

/// Parses the arguments. All fields of `T` must be optional.
///
/// # Errors
/// An argument has the wrong type.
fn parse<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, ToolError> {
    let parsed = serde_json::from_value(arguments.clone().into());
    parsed.map_err(|error| {
        // The error of serde does not name the field.
        for (name, value) in arguments {
            let alone = JsonObject::from_iter([(name.clone(), value.clone())]);
            if let Err(error) = serde_json::from_value::<T>(alone.into()) {
                return ToolError::new(format!("invalid value for `{name}`: {error}"));
            }
        }
        ToolError::new(format!("invalid arguments: {error}"))
    })
}
