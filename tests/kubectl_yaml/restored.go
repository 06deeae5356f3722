package main

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// restored checks that the undone documents equal the originals, except for the documented
// differences: the path `/`, numbers instead of names of ports, empty mappings, and the opt-in.
func restored(before []any, undone []byte) error {
	after, err := readKubectl(undone)
	if err != nil {
		return fmt.Errorf("kubectl does not read the undone document: %w", err)
	}
	before = copied(before).([]any)
	for _, document := range append(append([]any{}, before...), after...) {
		for _, object := range objects(document) {
			normalize(podTemplate(object))
		}
	}
	if difference := firstDifference(before, after, ""); difference != "" {
		return fmt.Errorf("undone: %s", difference)
	}
	return nil
}

func normalize(template map[string]any) {
	if template == nil {
		return
	}
	found := annotations(template)
	// Undoing loses every value except "false", as a note reports.
	delete(found, optOut)
	if text, isText := found[config].(string); isText {
		found[config] = normalizedConfig(text)
		if isEmpty(found[config]) {
			delete(found, config)
		}
	}
	dropEmpty(template)
	for _, kind := range []string{"containers", "initContainers"} {
		for _, container := range containers(template, kind) {
			hooks, _ := container["lifecycle"].(map[string]any)
			for slot := range slots {
				for _, holder := range []map[string]any{container, hooks} {
					handler, _ := holder[slot].(map[string]any)
					normalizeHandler(handler, container)
				}
			}
		}
	}
}

func normalizedConfig(text string) any {
	var read map[string]any
	if yaml.Unmarshal([]byte(text), &read) != nil {
		return text
	}
	if isEmpty(read["proxyMetadata"]) {
		delete(read, "proxyMetadata")
	}
	return toAny(read)
}

func normalizeHandler(handler, container map[string]any) {
	for _, kind := range []string{"httpGet", "tcpSocket"} {
		action, isMapping := handler[kind].(map[string]any)
		if !isMapping {
			continue
		}
		action["port"] = portNumber(action["port"], container)
		if path := action["path"]; kind == "httpGet" && (path == nil || path == "") {
			action["path"] = "/"
		}
	}
}
