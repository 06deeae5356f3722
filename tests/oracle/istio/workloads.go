package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"strings"

	core "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// workload is an object from whose template a controller creates pods, or a Pod.
type workload struct {
	kind, namespace, name string
	object                map[string]any
	template              map[string]any
	decodeError           error
}

// templatePaths are the places of a pod template in the supported kinds.
var templatePaths = [][]string{{"spec", "jobTemplate", "spec", "template"}, {"spec", "template"}, {"template"}}

// workloads returns the workloads of a YAML file, read as kubectl reads it. Other objects are left out.
func workloads(text string) []workload {
	found := []workload{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if err != nil {
			return found
		}
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			found = append(found, workload{decodeError: err})
			continue
		}
		found = append(found, ofObject(object)...)
	}
}

func ofObject(object map[string]any) []workload {
	kind, _ := object["kind"].(string)
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		found := []workload{}
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				if item["kind"] == nil {
					item["kind"] = strings.TrimSuffix(kind, "List")
				}
				found = append(found, ofObject(item)...)
			}
		}
		return found
	}
	metadata := child(object, "metadata")
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	template := object
	if kind != "Pod" {
		for _, path := range templatePaths {
			template = child(object, path...)
			if template != nil {
				break
			}
		}
	}
	if child(template, "spec")["containers"] == nil {
		return nil
	}
	return []workload{{kind, namespace, name, object, template, nil}}
}

// child returns the object at a path, or nil.
func child(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// pod returns the pod that the controller sends to the API server.
func (w workload) pod() (*core.Pod, error) {
	if w.decodeError != nil {
		return nil, w.decodeError
	}
	raw, err := json.Marshal(w.template)
	if err != nil {
		return nil, err
	}
	pod := &core.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, errors.New("spec.containers is empty")
	}
	pod.APIVersion, pod.Kind, pod.Namespace = "v1", "Pod", w.namespace
	if pod.Namespace == "" {
		pod.Namespace = "default"
	}
	if w.kind != "Pod" {
		pod.Name, pod.GenerateName = "", w.name+"-"
	}
	return pod, nil
}
