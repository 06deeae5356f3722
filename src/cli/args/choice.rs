//! The values that options take. The comments are the help.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::settings::{Form, not_one_of};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OutputFormat {
    /// With the lines of the manifests.
    #[default]
    Full,
    /// One line per finding.
    Concise,
    /// JSON, version 1.
    Json,
    /// SARIF 2.1.0, for GitHub code scanning and editors.
    Sarif,
    /// Annotations of GitHub, ten of each type.
    Github,
    /// Code Quality of GitLab.
    Gitlab,
    /// JUnit XML, a test suite per file.
    Junit,
    /// Markdown, for the summary of a GitHub job.
    Summary,
}

impl OutputFormat {
    /// Tells whether findings can be counted in it.
    pub(in crate::cli) const fn has_statistics(self) -> bool {
        matches!(self, Self::Full | Self::Concise | Self::Json)
    }
}

/// A report that goes to a file.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ReportArg {
    pub(in crate::cli) format: OutputFormat,
    pub(in crate::cli) path: PathBuf,
}

fn unknown_format(given: &str) -> String {
    let all = OutputFormat::value_variants().iter();
    let all: Vec<_> = all.filter_map(ValueEnum::to_possible_value).collect();
    let names: Vec<&str> = all.iter().map(|one| one.get_name()).collect();
    not_one_of("format", given, &names)
}

pub(super) fn report(text: &str) -> Result<ReportArg, String> {
    let (format, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or("write a format, `=`, and a file, such as sarif=meshprobe.sarif")?;
    if path == "-" {
        return Err("standard output takes --output-format".to_owned());
    }
    let known = OutputFormat::from_str(format, false);
    let format = known.map_err(|_| unknown_format(format))?;
    Ok(ReportArg {
        format,
        path: PathBuf::from(path),
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TableFormat {
    /// A table.
    #[default]
    Table,
    /// JSON, version 1.
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RuleFormat {
    /// Markdown, or a list of ids.
    #[default]
    Text,
    /// JSON, version 1.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FailOnArg {
    /// On errors.
    Error,
    /// On warnings and errors.
    Warning,
    /// On any finding.
    Note,
    /// Never.
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SeverityArg {
    /// Errors.
    Error,
    /// Warnings and errors.
    Warning,
    /// Everything.
    Note,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SchemaKind {
    /// The JSON schema of `.meshprobe.yaml` and of functionConfigs.
    #[default]
    Config,
    /// The KRMFunctionDefinition, for catalogues of functions.
    Function,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FormArg {
    /// In an annotation of the pod template, with the opt-out: the probes run as they are committed.
    Annotation,
    /// In a partial istio-proxy container, with the opt-out: for custom injection templates.
    Container,
    /// In a partial istio-proxy container, without the opt-out: the injected pod equals the injected original.
    ContainerOnly,
}

impl From<FormArg> for Form {
    fn from(form: FormArg) -> Self {
        match form {
            FormArg::Annotation => Self::Annotation,
            FormArg::Container => Self::Container,
            FormArg::ContainerOnly => Self::ContainerOnly,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum MeshArg {
    /// Decided from the manifests, pod by pod.
    Auto,
    /// Istio.
    Istio,
    /// Istio; pods whose Namespace is not in the manifests are in ambient mode.
    Ambient,
    /// Open Service Mesh.
    Osm,
    /// Kuma, and Kong Mesh.
    Kuma,
    /// Consul.
    Consul,
    /// Linkerd.
    Linkerd,
    /// AWS App Mesh.
    #[value(alias = "appmesh")]
    AppMesh,
    /// Cilium with mutual authentication.
    Cilium,
    /// No mesh.
    None,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ColorArg {
    /// On a terminal that can.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
