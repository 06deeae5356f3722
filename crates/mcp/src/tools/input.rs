//! The parameters that tools share, and the schemas of tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use meshprobe_mesh::settings::MeshKind;
use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Command, Output, Runner, ToolError, clean};
use crate::paths::{Resolved, resolve};
use crate::roots::Roots;

/// What a call may use.
pub(crate) struct Call<'a> {
    pub runner: &'a dyn Runner,
    pub roots: &'a Roots,
    /// Set as soon as no one waits for the answer.
    pub is_stopped: Arc<AtomicBool>,
}

/// The longest text of a pasted manifest in bytes.
const LONGEST_MANIFEST: usize = 1 << 20;

/// The most values of a list.
const MOST_VALUES: usize = 200;

/// The manifests of a call, and facts about the mesh.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Manifests {
    /// Files and directories to answer for, below the roots: relative to a root, absolute, or `file:` URIs. Default: the
    /// root. Facts, such as policies and namespace labels, also come from the rest of the repository.
    paths: Vec<String>,
    /// Pasted manifests, as YAML or JSON text of at most 1 MiB, instead of `paths`. Answers name their lines
    /// `stdin:LINE`. Facts come from this text and from `context` only.
    manifest: Option<String>,
    /// More files and directories below the roots that are only read for facts, such as `.` if a pasted manifest belongs
    /// to this repository.
    context: Vec<String>,
    /// The service mesh. Default: detected.
    mesh: Option<String>,
    /// The release of the mesh, such as `1.28`. Default: detected, else the latest.
    mesh_version: Option<String>,
    /// Facts that the manifests do not state, as `KEY=VALUE`, such as `mtls=STRICT`. Keys: ambient, cni,
    /// cni-enforces-node-traffic, native-sidecars, rewrite (true, false); dataplane (ambient, sidecar, none); injection
    /// (evidence, all, none); mtls (DISABLE, PERMISSIVE, STRICT); network-plugin, node-version, revision,
    /// root-namespace, status-port.
    assume: Vec<String>,
    /// Facts that take precedence over the manifests, as `KEY=VALUE`; keys as for `assume`.
    #[serde(rename = "override")]
    overrides: Vec<String>,
    /// The namespace of objects that do not set one.
    namespace: Option<String>,
}

/// A command with the manifests that it reads.
pub(super) struct Invocation {
    arguments: Vec<OsString>,
    /// The paths, or `-` for the text of a manifest.
    targets: Vec<PathBuf>,
    stdin: Vec<u8>,
    directory: PathBuf,
    reads_paths: bool,
}

impl Manifests {
    /// Resolves the paths, and starts a command that reads them.
    ///
    /// # Errors
    /// A path may not be read, or the text of the manifest is too long.
    pub(super) fn invocation(
        &self,
        call: &Call<'_>,
        command: &str,
    ) -> Result<Invocation, ToolError> {
        let (targets, stdin) = self.targets(call)?;
        let context = match self.context.as_slice() {
            [] => None,
            paths => Some(resolve(call.roots, "context", paths)?),
        };
        let first = call.roots.folders.first();
        let directory = match (&targets, &context) {
            (Some(targets), Some(context)) if targets.root != context.root => {
                return Err(ToolError::new(
                    "the values of `paths` and `context` are below several roots",
                ));
            }
            (Some(found), _) | (None, Some(found)) => found.root.clone(),
            (None, None) => {
                first.map_or_else(|| call.roots.directory.clone(), |root| root.real.clone())
            }
        };
        let mut invocation = Invocation {
            reads_paths: targets.is_some() || context.is_some(),
            arguments: vec![command.into(), "--color=never".into()],
            targets: targets.map_or_else(|| vec!["-".into()], |targets| targets.paths),
            stdin,
            directory,
        };
        invocation.options("mesh", self.mesh.as_ref());
        invocation.options("mesh-version", self.mesh_version.as_ref());
        invocation.options("assume", limited("assume", &self.assume)?);
        invocation.options("override", limited("override", &self.overrides)?);
        invocation.options("namespace", self.namespace.as_ref());
        for path in context.iter().flat_map(|context| &context.paths) {
            let mut option = OsString::from("--context=");
            option.push(path);
            invocation.arguments.push(option);
        }
        Ok(invocation)
    }

    /// Returns whether the manifests are those of the call, and not files.
    pub(super) const fn is_pasted(&self) -> bool {
        self.manifest.is_some()
    }

    /// Returns the paths, or else the text of the manifest.
    fn targets(&self, call: &Call<'_>) -> Result<(Option<Resolved>, Vec<u8>), ToolError> {
        let Some(manifest) = &self.manifest else {
            let paths = limited("paths", &self.paths)?;
            return Ok((Some(resolve(call.roots, "paths", paths)?), Vec::new()));
        };
        if !self.paths.is_empty() {
            return Err(ToolError::new("`paths` and `manifest` exclude each other"));
        }
        if manifest.len() > LONGEST_MANIFEST {
            let size = manifest.len();
            return Err(ToolError::new(format!(
                "`manifest` has {size} bytes; the limit is {LONGEST_MANIFEST}"
            ))
            .help("write it to a file below a root, and pass `paths`"));
        }
        if manifest.trim().is_empty() {
            return Err(ToolError::new("`manifest` is empty"));
        }
        Ok((None, manifest.clone().into_bytes()))
    }
}

/// Rejects a list that is too long for a command.
pub(super) fn limited<'v>(
    parameter: &str,
    values: &'v [String],
) -> Result<&'v [String], ToolError> {
    if values.len() > MOST_VALUES {
        let count = values.len();
        return Err(ToolError::new(format!(
            "`{parameter}` has {count} values; the limit is {MOST_VALUES}"
        )));
    }
    Ok(values)
}

impl Invocation {
    /// Adds an option that takes no value.
    pub(super) fn flag(&mut self, name: &str) {
        self.arguments.push(format!("--{name}").into());
    }

    /// Adds an option with each value.
    pub(super) fn options<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v String>) {
        for value in values {
            // With `=`, a value that starts with `-` is not an option.
            self.arguments.push(format!("--{name}={value}").into());
        }
    }

    /// Runs the command, and returns the folder that paths in the answer are relative to, if the command reads paths.
    pub(super) fn run(self, call: &Call<'_>) -> (Option<String>, Output) {
        let root = self
            .reads_paths
            .then(|| clean(&self.directory.to_string_lossy()));
        let mut arguments = self.arguments;
        arguments.push("--".into());
        arguments.extend(self.targets.into_iter().map(PathBuf::into_os_string));
        let output = call.runner.run(&Command {
            arguments,
            stdin: self.stdin,
            directory: self.directory,
            roots: call.roots.real(),
            is_stopped: Arc::clone(&call.is_stopped),
        });
        (root, output)
    }
}

/// The deepest schema that references are resolved in.
const DEPTH: usize = 16;

/// Returns the schema of the parameters of a tool; for `mesh`, with the names that are known.
pub(super) fn input<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    let mut schema = short(&schema_for_input::<T>().unwrap_or_default());
    let mesh = schema
        .get_mut("properties")
        .and_then(|properties| properties.get_mut("mesh"))
        .and_then(Value::as_object_mut);
    if let Some(mesh) = mesh {
        let names = MeshKind::all().map(|kind| Value::from(kind.as_str()));
        mesh.insert("enum".into(), names.collect());
    }
    schema.insert("additionalProperties".into(), false.into());
    Arc::new(schema)
}

/// Returns the schema of the structured content of a tool.
pub(super) fn output<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    Arc::new(short(&schema_for_output::<T>()))
}

/// Returns a schema without references, defaults and alternatives to `null`.
fn short(schema: &JsonObject) -> JsonObject {
    let root = Value::Object(schema.clone());
    let mut short = shortened(&root, &root, DEPTH);
    match short.as_object_mut() {
        Some(object) => {
            object.remove("$defs");
            object.remove("$schema");
            std::mem::take(object)
        }
        None => JsonObject::new(),
    }
}

fn shortened(value: &Value, root: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Bool(true);
    };
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| shortened(item, root, depth))
            .collect(),
        Value::Object(object) => of_object(object, root, depth),
        _ => value.clone(),
    }
}

fn of_object(object: &JsonObject, root: &Value, depth: usize) -> Value {
    let mut out = JsonObject::new();
    let alternatives = object.get("anyOf").and_then(Value::as_array);
    let referring = alternatives
        .into_iter()
        .flatten()
        .find(|value| value.get("$ref").is_some());
    let reference = referring
        .and_then(|value| value.get("$ref"))
        .or_else(|| object.get("$ref"));
    let definition = reference
        .and_then(|text| root.pointer(text.as_str()?.strip_prefix('#')?))
        .map(|definition| shortened(definition, root, depth));
    if let Some(Value::Object(definition)) = definition {
        out.extend(definition);
    }
    for (key, value) in object {
        match (key.as_str(), value) {
            ("$ref" | "default" | "format", _) => {}
            ("anyOf", _) if referring.is_some() => {}
            ("description", Value::String(text)) => {
                out.insert(key.clone(), text.replace('\n', " ").into());
            }
            // An answer does not contain values that are missing.
            ("required", Value::Array(names)) => {
                let is_given = |name: &&Value| {
                    let kinds = name
                        .as_str()
                        .and_then(|name| object.get("properties")?.get(name));
                    !kinds.is_some_and(|property| property.to_string().contains("\"null\""))
                };
                out.insert(
                    key.clone(),
                    names.iter().filter(is_given).cloned().collect(),
                );
            }
            ("type", Value::Array(kinds)) => {
                let kind = kinds.iter().find(|kind| *kind != "null");
                out.insert(key.clone(), kind.cloned().unwrap_or_default());
            }
            _ => {
                out.insert(key.clone(), shortened(value, root, depth));
            }
        }
    }
    Value::Object(out)
}
