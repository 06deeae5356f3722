//! Random kustomizations, components, and objects of Flux and Argo CD, which deploy the workloads of a random base.

use serde_json::{Map, Value, json};

use super::random_tree::{Files, Piece, Random, probe, yaml};

/// Generator of the kustomizations of a tree.
pub(super) struct Maker {
    random: Random,
    pieces: Vec<Piece>,
    /// Number of generated names.
    names: usize,
}

impl Maker {
    pub(super) fn new(random: Random, pieces: Vec<Piece>) -> Self {
        Self {
            random,
            pieces,
            names: 0,
        }
    }

    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.random.percent(percent)
    }

    fn new_name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    /// Returns a kustomization with these resources. `percent` is the probability of changes.
    pub(super) fn kustomization(&mut self, resources: &[&str], percent: usize) -> String {
        let mut fields = self.fields(percent);
        fields.insert("resources".into(), json!(resources));
        yaml(&Value::Object(fields))
    }

    pub(super) fn overlay(&mut self, below: &str, name: &str) -> String {
        let mut fields = self.fields(80);
        fields.insert("resources".into(), json!([below]));
        // A kustomization that includes both overlays requires distinct names.
        fields.insert("namePrefix".into(), json!(format!("{name}-")));
        if self.random.percent(30) {
            fields.insert("components".into(), json!(["../component"]));
        }
        yaml(&Value::Object(fields))
    }

    pub(super) fn fields(&mut self, percent: usize) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut patches = Vec::new();
        while self.random.percent(percent) && patches.len() < 3 {
            let piece = self.random.below(self.pieces.len());
            let piece = self.pieces[piece].clone();
            patches.push(self.patch(&piece));
        }
        if !patches.is_empty() {
            fields.insert("patches".into(), json!(patches));
        }
        let options = [
            ("nameSuffix", json!("-s")),
            ("commonAnnotations", json!({"owner": "us"})),
            (
                "labels",
                json!([{"pairs": {"tier": "x"}, "includeTemplates": true}]),
            ),
            (
                "images",
                json!([{"name": "registry.example/web", "newTag": "2"}]),
            ),
            (
                "configMapGenerator",
                json!([{"name": "settings", "literals": ["a=b"]}]),
            ),
            ("namespace", json!("other")),
        ];
        for (key, value) in options {
            if self.random.percent(percent / 6) {
                let value = match key {
                    // kustomize refuses two generators with the same name in a build.
                    "configMapGenerator" => {
                        json!([{"name": self.new_name(), "literals": ["a=b"]}])
                    }
                    _ => value,
                };
                fields.insert(key.into(), value);
            }
        }
        if self.random.percent(percent / 6) {
            let replacement = self.replacement();
            fields.insert("replacements".into(), json!([replacement]));
        }
        fields
    }

    /// Returns a patch of a workload: a JSON patch or a partial object.
    fn patch(&mut self, piece: &Piece) -> Value {
        let template = piece.template();
        let container = format!("{template}/spec/containers/0");
        let rename = json!({"op": "replace", "path": "/metadata/name", "value": self.new_name()});
        let labels = match piece.kind {
            "Pod" => "/metadata/labels".to_owned(),
            _ => format!("{template}/metadata/labels"),
        };
        let annotations = match piece.kind {
            "Pod" => "/metadata/annotations".to_owned(),
            _ => format!("{template}/metadata/annotations"),
        };
        let mut operations = match self.random.below(13) {
            0..=2 => vec![rename.clone()],
            3 => vec![
                json!({"op": "add", "path": format!("{labels}/sidecar.istio.io~1inject"), "value": "false"}),
            ],
            4 => vec![json!({"op": "add", "path": annotations, "value": {"a": "b"}})],
            5 if piece.has_annotations => {
                vec![json!({"op": "add", "path": format!("{annotations}/a"), "value": "b"})]
            }
            6 => {
                vec![json!({"op": "replace", "path": format!("{container}/image"), "value": "x:3"})]
            }
            7 => {
                let value = probe(&mut self.random);
                vec![
                    json!({"op": "add", "path": format!("{container}/startupProbe"), "value": value}),
                ]
            }
            8 if piece.has_probe => {
                vec![json!({"op": "remove", "path": format!("{container}/readinessProbe")})]
            }
            9 => vec![
                json!({"op": "add", "path": format!("{template}/spec/containers/0"), "value": {"name": "first", "image": "f:1"}}),
            ],
            10 if piece.has_annotations => {
                vec![json!({"op": "test", "path": format!("{container}/name"), "value": "web"})]
            }
            _ => return self.partial(piece),
        };
        if self.random.percent(25) {
            operations.push(rename);
        }
        let target = match self.random.below(4) {
            0 => json!({"kind": piece.kind, "name": piece.name}),
            1 => json!({"name": piece.name}),
            2 => {
                json!({"labelSelector": format!("piece={}", piece.object["metadata"]["labels"]["piece"].as_str().unwrap())})
            }
            _ => json!({"kind": piece.kind, "name": piece.name, "namespace": "shop"}),
        };
        json!({"target": target, "patch": serde_json::to_string(&operations).unwrap()})
    }

    /// Returns a strategic merge patch of a workload.
    fn partial(&mut self, piece: &Piece) -> Value {
        let mut metadata = json!({"name": piece.name, "namespace": "shop"});
        let mut options = json!({});
        let mut template = Value::Null;
        let mut is_deleted = false;
        match self.random.below(8) {
            0 => {
                metadata["name"] = json!(self.new_name());
                options["allowNameChange"] = json!(true);
            }
            1 => is_deleted = true,
            2 => template = json!({"metadata": {"annotations": {"$patch": "replace", "a": "b"}}}),
            3 => {
                let all = json!([{"$patch": "replace"}, {"name": "web", "image": "y:4"}]);
                template = json!({"spec": {"containers": all}});
            }
            4 => template = json!({"spec": {"containers": [{"name": "new", "image": "n:1"}]}}),
            5 => {
                let probe = json!({"periodSeconds": 3});
                template =
                    json!({"spec": {"containers": [{"name": "web", "readinessProbe": probe}]}});
            }
            6 => template = json!({"metadata": {"annotations": {"proxy.istio.io/config": null}}}),
            _ => template = json!({"metadata": {"annotations": {"c": "d"}}}),
        }
        let mut object = json!({"apiVersion": piece.api_version, "kind": piece.kind});
        if is_deleted {
            object["$patch"] = json!("delete");
        }
        if !template.is_null() {
            match piece.kind {
                "Pod" => {
                    if let Some(annotations) = template["metadata"].get("annotations") {
                        metadata["annotations"] = annotations.clone();
                    }
                    if let Some(spec) = template.get("spec") {
                        object["spec"] = spec.clone();
                    }
                }
                "CronJob" => {
                    object["spec"] = json!({"jobTemplate": {"spec": {"template": template}}});
                }
                _ => object["spec"] = json!({"template": template}),
            }
        }
        object["metadata"] = metadata;
        let mut patch = json!({"patch": yaml(&object)});
        if options.get("allowNameChange").is_some() || self.random.percent(40) {
            patch["target"] = json!({"kind": piece.kind, "name": piece.name});
            patch["options"] = options;
        }
        patch
    }

    fn replacement(&mut self) -> Value {
        let piece = self.random.below(self.pieces.len());
        let piece = self.pieces[piece].clone();
        let container = match piece.kind {
            "Pod" => "spec.containers.0",
            "CronJob" => "spec.jobTemplate.spec.template.spec.containers.0",
            _ => "spec.template.spec.containers.0",
        };
        let named = json!({"kind": piece.kind, "name": piece.name});
        let create = json!({"create": true});
        match self.random.below(5) {
            // Renames the workload to the name of the Namespace.
            0 | 1 => json!({"source": {"kind": "Namespace"}, "targets": [{"select": named}]}),
            2 => json!({
                "source": {"kind": "Namespace"},
                "targets": [{"select": named, "fieldPaths": [format!("{container}.image")]}],
            }),
            3 => json!({
                "source": {"kind": "Namespace", "fieldPath": "metadata.labels.team"},
                "targets": [{"select": {"kind": "Namespace"}, "fieldPaths": ["metadata.labels.istio-injection"]}],
            }),
            _ => {
                let path = format!("{container}.readinessProbe");
                json!({
                    "source": {"kind": piece.kind, "name": piece.name, "fieldPath": path},
                    "targets": [{"select": {"kind": "PeerAuthentication"}, "fieldPaths": ["metadata.annotations.copied"], "options": create}],
                })
            }
        }
    }

    /// Returns an object of Flux or Argo CD that deploys the first overlay under other names, or no files.
    pub(super) fn deployment(&mut self) -> Files {
        let piece = self.random.below(self.pieces.len());
        let piece = self.pieces[piece].clone();
        let patches = json!([self.patch(&piece)]);
        let object = match self.random.below(4) {
            0 => json!({
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
                "kind": "Kustomization",
                "metadata": {"name": "apps", "namespace": "flux-system"},
                "spec": {"path": "./one", "patches": patches, "namePrefix": "flux-"},
            }),
            1 => json!({
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Application",
                "metadata": {"name": "apps", "namespace": "argocd"},
                "spec": {
                    "source": {"repoURL": "https://example.test/r", "path": "one", "kustomize": {
                        "namePrefix": "argo-", "nameSuffix": "-x", "patches": patches,
                    }},
                    "destination": {"namespace": "shop"},
                },
            }),
            _ => return Files::new(),
        };
        Files::from([("clusters/apps.yaml".to_owned(), yaml(&object))])
    }
}
