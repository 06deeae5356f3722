//! Fails when files of a crate import each other in a circle.
//!
//! The file of a folder, `mod.rs`, counts like any other file. Its `pub use` lines only re-export, so a path through them
//! leads to the file that defines the name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::support::rust_code::{USE, code, crate_folders, leaves, rust_files};

/// The segments of a module path below the crate; empty for `lib.rs`.
type Module = Vec<String>;

/// A module and the segments of a path that follow it.
type Target = (Module, Vec<String>);

/// `pub(in crate::rules)` imports nothing.
static VISIBILITY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"pub\(in [^)]*\)").unwrap());
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)(?:crate|super|self|[a-z_](?-u:\w)*)(?:::(?-u:\w)+)+").unwrap()
});

#[derive(Default)]
struct Crate {
    texts: BTreeMap<Module, String>,
    /// What `pub use` lines re-export, by module and name.
    reexports: BTreeMap<(Module, String), Target>,
    /// The paths that each module uses.
    uses: BTreeMap<Module, Vec<Target>>,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut found = Self::default();
        for path in rust_files(root) {
            if !path.ends_with("main.rs") {
                let module = module_of(path.strip_prefix(root).unwrap());
                let lines = code(&fs::read_to_string(&path).unwrap());
                let text = lines.into_iter().map(|(_, line)| line + "\n").collect();
                found.texts.insert(module, text);
            }
        }
        found.read_uses();
        found
    }

    fn read_uses(&mut self) {
        for (module, text) in &self.texts {
            let is_facade = self.has_children(module);
            let mut uses = Vec::new();
            for line in USE.captures_iter(text) {
                let is_public = line.get(1).is_some();
                for path in leaves(&line[2]) {
                    let Some(target) = self.resolve(module, &path) else {
                        continue;
                    };
                    if is_public {
                        let name = path.rsplit("::").next().unwrap().to_owned();
                        self.reexports
                            .insert((module.clone(), name), target.clone());
                    }
                    if !(is_public && is_facade) {
                        uses.push(target);
                    }
                }
            }
            let body = USE.replace_all(text, "");
            let body = VISIBILITY.replace_all(&body, "");
            uses.extend(
                PATH.find_iter(&body)
                    .filter_map(|path| self.resolve(module, path.as_str())),
            );
            self.uses.insert(module.clone(), uses);
        }
    }

    fn has_children(&self, module: &Module) -> bool {
        self.texts
            .keys()
            .any(|other| other.len() > module.len() && other.starts_with(module))
    }

    /// Returns the module where a path of `module` starts, and the rest of the path; `None` for other crates.
    fn resolve(&self, module: &Module, path: &str) -> Option<Target> {
        let segments: Vec<String> = path.split("::").map(str::to_owned).collect();
        match segments.first()?.as_str() {
            "crate" => Some((Vec::new(), segments[1..].to_vec())),
            "self" => Some((module.clone(), segments[1..].to_vec())),
            "super" => {
                let ups = segments
                    .iter()
                    .take_while(|segment| *segment == "super")
                    .count();
                let start = module.len().checked_sub(ups)?;
                Some((module[..start].to_vec(), segments[ups..].to_vec()))
            }
            first => {
                let mut child = module.clone();
                child.push(first.to_owned());
                self.texts
                    .contains_key(&child)
                    .then(|| (module.clone(), segments))
            }
        }
    }

    /// Returns the module that defines what a path names.
    fn definition(&self, (module, path): &Target, depth: usize) -> Module {
        let mut module = module.clone();
        for (at, segment) in path.iter().enumerate() {
            let mut child = module.clone();
            child.push(segment.clone());
            if self.texts.contains_key(&child) {
                module = child;
                continue;
            }
            let reexport = self.reexports.get(&(module.clone(), segment.clone()));
            if let Some((start, rest)) = reexport.filter(|_| depth < 8) {
                let rest = [rest.as_slice(), &path[at + 1..]].concat();
                return self.definition(&(start.clone(), rest), depth + 1);
            }
            break;
        }
        module
    }

    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        self.uses
            .iter()
            .map(|(module, uses)| {
                let targets = uses.iter().map(|target| self.definition(target, 0));
                (module, targets.filter(|target| target != module).collect())
            })
            .collect()
    }
}

fn module_of(path: &Path) -> Module {
    let path = path.with_extension("");
    let mut module: Module = path
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if module.last().is_some_and(|last| last == "mod") || module == ["lib"] {
        module.pop();
    }
    module
}

/// Returns the modules that reach each other, in groups.
fn circles(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = imports
        .keys()
        .map(|module| (*module, reachable(imports, module)))
        .collect();
    let mut found = BTreeSet::new();
    for (module, others) in &reached {
        if others.contains(module) {
            let circle = others
                .iter()
                .filter(|other| reached[**other].contains(module));
            found.insert(circle.map(|module| module.join("/")).collect());
        }
    }
    found
}

fn reachable<'m>(
    imports: &'m BTreeMap<&Module, BTreeSet<Module>>,
    start: &Module,
) -> BTreeSet<&'m Module> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Module> = imports[start].iter().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let (mut files, mut found) = (0, Vec::new());
    for root in crate_folders() {
        let read = Crate::read(&root);
        files += read.texts.len();
        let circles = circles(&read.imports()).into_iter();
        found.extend(circles.map(|circle| (root.clone(), circle)));
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(files > 400, "{files} files");
}

#[test]
fn circles_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\n");
    write("a/mod.rs", "mod inner;\npub use inner::Thing;\n");
    write(
        "a/inner.rs",
        "use crate::b::{c as d, e::{f, g}};\npub struct Thing;\n",
    );
    write("b.rs", "use crate::a::Thing;\nfn c(_: Thing) {}\n");
    write(
        "c.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\nfn h() { crate::b::c() }\n",
    );
    let found = circles(&Crate::read(folder.path()).imports());
    let circle = ["a/inner", "b"].map(str::to_owned).into();
    assert_eq!(found, BTreeSet::from([circle]));
}
