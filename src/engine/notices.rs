//! What the engine itself reports about files: findings that no rule makes.

use crate::finding::Severity;
use crate::rules;

use super::guards::GUARDS;

/// A kind of finding that no rule makes, explained like a rule.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// The id, in one space with the ids of rules.
    pub id: &'static str,
    /// The usual severity.
    pub severity: Severity,
    /// The explanation, in Markdown.
    pub docs: &'static str,
}

pub(super) const AMBIGUOUS_YAML: &str = "ambiguous-yaml";
pub(super) const DUPLICATE_KEY: &str = "duplicate-key";
pub(super) const EDIT_REFUSED: &str = "edit-refused";
pub(super) const FILE_LEFT_OUT: &str = "file-left-out";
pub(super) const INTERNAL_ERROR: &str = "internal-error";
pub(super) const INVALID_SUPPRESSION: &str = "invalid-suppression";
pub(super) const NOT_MODELLED: &str = "kustomization-not-modelled";
pub(super) const NOT_RENDERED: &str = "not-rendered";
pub(super) const NOT_REWRITTEN: &str = "not-rewritten-ahead";
pub(super) const NOT_UTF8: &str = "not-utf8";
pub(super) const OVERLAY_LEFT_OUT: &str = "overlay-left-out";
pub(super) const POLICY_LEFT_OUT: &str = "policy-left-out";
pub(super) const SYNTAX_ERROR: &str = "syntax-error";
pub(super) const TRACKED_HIDDEN: &str = "tracked-file-hidden";
pub(super) const UNREADABLE_FILE: &str = "unreadable-file";
pub(super) const UNUSED_SUPPRESSION: &str = "unused-suppression";

/// All kinds, sorted by id.
pub const NOTICES: &[Notice] = &[
    Notice {
        id: AMBIGUOUS_YAML,
        severity: Severity::Warning,
        docs: "\
kubectl and kustomize read a place of a Kubernetes document differently, or both read something other than
YAML 1.2 says.

Seven things are reported:

- A character that ends a line in YAML 1.1 (U+0085, U+2028, U+2029), a byte order mark within the document, or a
  `?` that touches a key in braces, where the document means something else because of it. An error, because it
  hides text from reviewers and from other tools. A document of comments that is a manifest because of such a
  character is reported, too. In a document with more than 4,000 opening brackets the character is always reported.
- A merge key (`<<`) below a key that it overrides with another value. kubectl takes the value of the merge key,
  kustomize the value of the key.
- The tags `!!binary`, `!!timestamp`, and `!` before a number or boolean.
- A document that follows `...` without `---`. kubectl and kustomize ignore it without an error. An error, because
  it describes objects that are never deployed.
- Merge keys that lead through more than 16 levels or 10,000 mappings. meshprobe does not follow them further. An
  error, because the rest was not checked. In a file of another tool, such as values of a chart or the configuration of
  a CI system, it is an error only at the root, where a merge key may bring in `apiVersion` and `kind`, and a note
  everywhere else: the values may state facts about the mesh that are not read.
- A key with the tag `!!binary` that kubectl decodes to `apiVersion` or `kind`. An error, because it hides a manifest.
- Text of the annotation `proxy.istio.io/config` that Istio, which uses the YAML parser of kubectl, reads differently
  from YAML 1.2.

## Why it matters

What one tool checks is not what another one deploys. This probe uses `/healthz` with `kubectl apply`, and `/ready`
with `kustomize build`:

```yaml
httpGet:
  path: /ready
  <<: *probe   # path: /healthz
```

Predictions follow the reading of kustomize. `rewrite` and `--fix` leave the document as it is.

## What to do

Delete the character. Write `<<` above the keys of its mapping. Write the value without the tag. Write out what
deeply nested merge keys bring in.
",
    },
    Notice {
        id: DUPLICATE_KEY,
        severity: Severity::Warning,
        docs: "\
A mapping of a Kubernetes document has the same key twice.

## Why it matters

kubectl and the API machinery take the last of them without a word, kustomize refuses the file:
what one reads first is not what runs. meshprobe judges the last and edits neither.

## What to do

Delete one of the two.
",
    },
    Notice {
        id: EDIT_REFUSED,
        severity: Severity::Error,
        docs: "\
An intended change could not be written without risk to the rest of the document.

## Why it matters

Before anything is written, the edited document is read again by a second, independent parser,
and must hold exactly what was there before and the change. Where it does not, nothing is written.

## What to do

Make the change by hand; the message says what stood in the way.
",
    },
    Notice {
        id: FILE_LEFT_OUT,
        severity: Severity::Error,
        docs: "\
The files of the run would take more memory than allowed once they are parsed. The file that the message names was
not checked.

An error where the file contains the words `apiVersion` and `kind`, also with letters written as escapes, or was named
on the command line, otherwise a note.

## Why it matters

A dense document takes up to 40 times its size in memory. The limit is 192 MiB, and 16 KiB more for each file, so that
trees of many ordinary files fit, and single files of about 40 MB. The sizes are estimates: the text, the values in it,
and what is worked out about pods. Which files are left out does not depend on the number of threads.

## What to do

Raise the limit with `--max-parsed 1GiB`, split the file, or leave it out with `--exclude`.
",
    },
    Notice {
        id: INTERNAL_ERROR,
        severity: Severity::Error,
        docs: "\
meshprobe panicked on a file because of a bug in meshprobe. The file was not checked, all others
were.

## Why it matters

No one knows what was missed. The run fails, even with `--fail-on never`.

## What to do

Please report it at <https://github.com/meshprobe/meshprobe/issues>, with the message of the
finding, which contains the location in the source code, the version (`meshprobe --version`), the
command, and the file, reduced as far as possible. `RUST_BACKTRACE=1` writes a stack trace to
standard error.
",
    },
    Notice {
        id: INVALID_SUPPRESSION,
        severity: Severity::Warning,
        docs: "\
A suppression names a rule that does not exist, gives no reason, or is not understood.

## Why it matters

A suppression that means another rule silences nothing; one without a reason leaves the next
reader to guess.

## What to do

Write `# meshprobe: ignore[rule-a, rule-b] reason` on the line of the finding or above it, or the
annotation `meshprobe.dev/ignore` on the object, one line per rule: `rule-id: reason`, or
`rule-id@container: reason`.
",
    },
    Notice {
        id: NOT_MODELLED,
        severity: Severity::Note,
        docs: "\
A kustomization asks for something that meshprobe does not follow without kustomize: a remote base,
a chart, a generator, a plugin. What it brings in or changes was not seen.

## What to do

Pipe the build in: `kustomize build DIR | meshprobe check -`.
",
    },
    Notice {
        id: NOT_RENDERED,
        severity: Severity::Error,
        docs: "\
`--kustomize` or `--helm` was given, and the program that renders failed, or is not there.

## Why it matters

What the cluster is given was not seen. The files themselves were checked as they stand: a
kustomization as far as it can be followed without kustomize, a chart not at all, as its templates
are not YAML.

## What to do

Run the command that the message names, and mend what it complains about. `kustomize` is looked for
on the `PATH`, then `kubectl`; for charts, `helm`.
",
    },
    Notice {
        id: NOT_REWRITTEN,
        severity: Severity::Error,
        docs: "\
`--require-rewritten` was given, and the mesh would still rewrite this probe at admission: nobody
has done it ahead of deployment.

## Why it matters

kustomize skips an exec function without a word when `--enable-exec` is missing, and so does
`kubectl kustomize`, always: the build succeeds, and its output is the unchanged one. A pipeline that
counts on the rewrite sees nothing of it. This is the guard for its end:

```sh
kustomize build --enable-alpha-plugins --enable-exec DIR | meshprobe check --require-rewritten -
```

What a rewrite would leave alone is not asked for: pods that no mesh takes in, as far as the
manifests and `--assume` say, pods that opted out, and handlers that the release does not rewrite. A pod
that a guard keeps from being rewritten is told, as it is not rewritten. So is a pod of which nothing
says whether it is in the mesh: a guard that passes without proof is none. Its Namespace
(`--context`) or `--assume injection=all` settles it.

## What to do

Run the function, or `meshprobe rewrite`. Where a pod is to stay as it is, say so on it, with the
annotation `meshprobe.dev/ignore: 'not-rewritten-ahead: reason'`.
",
    },
    Notice {
        id: NOT_UTF8,
        severity: Severity::Error,
        docs: "\
A file holds bytes that are not UTF-8, the only encoding that is read.

An error where the file has the marks of a Kubernetes manifest (`apiVersion:` and `kind:`, also with letters
written as escapes such as `\"\\x61piVersion\"`), otherwise a note.

## What to do

Save the file as UTF-8.
",
    },
    Notice {
        id: OVERLAY_LEFT_OUT,
        severity: Severity::Error,
        docs: "\
The kustomizations, Flux Kustomizations or Argo CD Applications of the tree stand for more objects than meshprobe
holds in memory at a time. Those that the message names were not checked.

## Why it matters

A few kilobytes of kustomizations can stand for millions of objects. The limit is 192 MiB, or 16 bytes for each byte
of the files that are read, whichever is more. It is an estimate of what rendered objects take. What is left out does
not depend on the number of threads.

Other limits, which no ordinary tree reaches, leave overlays out in the same way: 20,000,000 steps for all
renderings, 32 nested kustomizations, 5 objects of Flux or Argo CD that deploy each other, 2,000 items in a list of
an object that a strategic merge patch changes, and 200,000 values in an object.

## What to do

Raise the limit of the memory with `--max-rendered 1GiB`, or check fewer overlays at once. For the other limits,
render with `kustomize build`, Flux or Argo CD, and check the output.
",
    },
    Notice {
        id: POLICY_LEFT_OUT,
        severity: Severity::Note,
        docs: "\
A policy of a mesh, or a Namespace that takes part in one, is not taken into account because of a kustomization.

The kustomization lists it and deletes it while it renders pods, or uses its file as a patch for an object that is not
among the files.

A warning if a kustomization deletes it and its namespace has workloads that this kustomization does not render.
Otherwise a note.

## Why it matters

The policy was not taken into account in any check. If it is deployed in another way, for example with `kubectl apply`
or by Argo CD, the checks miss what it does.

A kustomization that deletes a policy decides for the pods that it renders: they run without the policy, and an error
because of the policy would be a false alarm. It does not decide for other pods of the namespace, but nothing says that
the policy is deployed for them either. That is why this is a warning, which fails a gate by default, and no prediction
follows from it. A policy that only kustomizations without pods delete is taken into account as it is written.

A workload in the same place is not left out: it is checked as it is written.

## What to do

Where a kustomization deletes the policy on purpose, there is nothing to do. Where the policy is deployed in another
way, leave the kustomization out with `--exclude`. A patch for a remote object is checked in the output of the build:
`kustomize build DIR | meshprobe check -`.
",
    },
    Notice {
        id: SYNTAX_ERROR,
        severity: Severity::Error,
        docs: "\
A document is not YAML. It was not judged; the other documents of the file were.

An error where the document has the marks of a Kubernetes manifest (`apiVersion:` and `kind:` at
the start of a line, also with letters written as escapes) or its file has the name of a kustomization,
otherwise a note.

A tab behind `-` or `?`, or before a key or comment, is an error in a Kubernetes document: YAML 1.2 accepts it, kubectl
and kustomize refuse the document.
",
    },
    Notice {
        id: TRACKED_HIDDEN,
        severity: Severity::Error,
        docs: "\
An ignore file hides Kubernetes manifests that git tracks, so they were not checked.

Reported by `check` where it is a gate: with `--fail-on`, with `failOn` in the configuration, or in CI
(the environment variable `CI` is set).

## Why it matters

An ignore file is for files that are not part of the repository. A line in `.ignore` or `.gitignore`
that hides a tracked manifest switches the linter off for it, and hides the facts that it states from
the checks of other files. In a pull request no one notices it.

Which files git tracks is read from its index. Where that cannot be read (a split index, for example),
a note says so.

Hidden templates of Helm charts are reported as a note, because `check` does not read templates. Links to files that the
run checks are not reported.

## What to do

Remove the line, or check what it hides all the same with `--no-ignore`. To leave files out on
purpose, name them with `--exclude` where the gate is called, or suppress this finding with a reason
under `ignore` of the configuration: both are visible where the gate is reviewed.
",
    },
    Notice {
        id: UNREADABLE_FILE,
        severity: Severity::Error,
        docs: "\
A file or directory could not be read.

An error (and exit code 2) where it was named on the command line, a note where it was met in a
directory.
",
    },
    Notice {
        id: UNUSED_SUPPRESSION,
        severity: Severity::Note,
        docs: "\
A suppression silences nothing: there is no finding of that rule where it holds.

## Why it matters

It would silence the next such finding, which nobody has looked at.

## What to do

Delete it. `--fix` deletes comments that stand on a line of their own and silence nothing at all.
",
    },
];

/// Lists everything that can be explained, rules, notices and guards, sorted by id.
#[must_use]
pub fn explained() -> Vec<Notice> {
    let rules = rules::all().iter().map(|rule| Notice {
        id: rule.id,
        severity: rule.severity,
        docs: rule.docs,
    });
    let mut all: Vec<Notice> = rules.chain(NOTICES.iter().chain(GUARDS).copied()).collect();
    all.sort_by_key(|notice| notice.id);
    all
}

/// Lists the ids of everything that can be reported, sorted.
#[must_use]
pub fn rule_ids() -> Vec<&'static str> {
    explained().into_iter().map(|notice| notice.id).collect()
}

/// Lists the ids of everything that `check` can report, sorted.
#[must_use]
pub fn check_ids() -> Vec<&'static str> {
    let all = rule_ids().into_iter();
    all.filter(|id| !super::guards::is_guard(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::NOTICES;

    #[test]
    fn notices_are_sorted() {
        assert!(NOTICES.is_sorted_by_key(|notice| notice.id));
    }
}
