//! Values of options. The doc comments are the text of `--help`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use meshprobe_mesh::settings::{Form, FormChoice, MeshKind, unknown_value_message};

use super::super::session::Audience;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OutputFormat {
    /// Findings with lines of the manifests.
    #[default]
    Full,
    /// One line per finding.
    Concise,
    /// JSON, version 1.
    Json,
    /// SARIF 2.1.0, for GitHub code scanning and editors.
    Sarif,
    /// GitHub annotations, at most ten of each type.
    Github,
    /// GitLab Code Quality.
    Gitlab,
    /// JUnit XML, one test suite per file.
    Junit,
    /// Markdown, for the summary of a GitHub job.
    Summary,
    /// A page for a browser that shows each probe with its way, in one file.
    Html,
}

impl OutputFormat {
    /// Returns who reads the format.
    pub(in crate::cli) const fn audience(self) -> Audience {
        match self {
            Self::Full | Self::Concise | Self::Summary => Audience::People,
            Self::Json | Self::Sarif | Self::Github | Self::Gitlab | Self::Junit | Self::Html => {
                Audience::Programs
            }
        }
    }

    /// Returns whether the format supports `--statistics`.
    pub(in crate::cli) const fn has_statistics(self) -> bool {
        matches!(self, Self::Full | Self::Concise | Self::Json)
    }
}

/// A report that is written to a file.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ReportArg<F> {
    pub(in crate::cli) format: F,
    pub(in crate::cli) path: PathBuf,
}

fn unknown_format<F: ValueEnum>(given: &str) -> String {
    let formats: Vec<_> = F::value_variants()
        .iter()
        .filter_map(ValueEnum::to_possible_value)
        .collect();
    let names: Vec<&str> = formats.iter().map(|format| format.get_name()).collect();
    unknown_value_message("format", given, &names)
}

/// Parses `FORMAT=FILE`.
pub(super) fn report<F: ValueEnum>(text: &str) -> Result<ReportArg<F>, String> {
    let (format, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or("expected a format, `=` and a file, such as `sarif=meshprobe.sarif`")?;
    if path == "-" {
        return Err("use `--output-format` for standard output".to_owned());
    }
    let known = F::from_str(format, false);
    let format = known.map_err(|_| unknown_format::<F>(format))?;
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
    /// A page for a browser that shows each probe with its way, in one file.
    Html,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RuleFormat {
    /// Markdown, or a list of ids with summaries.
    #[default]
    Text,
    /// JSON, version 1.
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExplainFormat {
    /// The page of the symptom, in Markdown.
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
    /// On no finding.
    Never,
    /// Also if something that runs pods is not judged, or a workload has no verdict.
    NotJudged,
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
    /// `annotation` for releases of Istio that are known and proven, otherwise `container`.
    Auto,
    /// In an annotation of the pod template. The webhook's own rewrite is switched off.
    Annotation,
    /// In a partial istio-proxy container, for custom injection templates. The webhook's own rewrite is switched off.
    Container,
    /// In a partial istio-proxy container. The webhook's own rewrite stays on; the injected pod is the same as without
    /// meshprobe.
    ContainerOnly,
}

impl From<FormArg> for FormChoice {
    fn from(form: FormArg) -> Self {
        match form {
            FormArg::Auto => Self::Auto,
            FormArg::Annotation => Self::Fixed(Form::Annotation),
            FormArg::Container => Self::Fixed(Form::Container),
            FormArg::ContainerOnly => Self::Fixed(Form::ContainerOnly),
        }
    }
}

/// A value of `--mesh`.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct MeshArg(pub(in crate::cli) MeshKind);

impl ValueEnum for MeshArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<MeshArg>> =
            LazyLock::new(|| MeshKind::all().map(MeshArg).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            MeshKind::Auto => "Detected from the manifests, for each pod",
            MeshKind::One(mesh) => mesh.summary(),
            MeshKind::Ambient => {
                "Istio, with injected namespaces and those without a Namespace manifest moved to ambient mode"
            }
            MeshKind::None => "No mesh",
        };
        Some(PossibleValue::new(self.0.as_str()).help(help))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ColorArg {
    /// On a terminal that supports colours.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
