package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	optOut  = "sidecar.istio.io/rewriteAppHTTPProbers"
	config  = "proxy.istio.io/config"
	probers = "ISTIO_KUBE_APP_PROBERS"
	proxy   = "istio-proxy"
)

// slots contains the keys of handlers, with the pattern of the agent's path.
var slots = map[string]string{
	"livenessProbe": "/app-health/%s/livez", "readinessProbe": "/app-health/%s/readyz",
	"startupProbe": "/app-health/%s/startupz",
	"postStart":    "/app-lifecycle/%s/poststartz", "preStop": "/app-lifecycle/%s/prestopz",
}

// intended checks that a rewrite changed only handlers, the carrier of the env and the opt-out, and
// that the env records the original handlers.
func intended(before []any, rewritten []byte, form string) error {
	after, err := readKubectl(rewritten)
	if err != nil {
		return fmt.Errorf("kubectl does not read the result: %w", err)
	}
	if len(before) != len(after) {
		return fmt.Errorf("%d documents became %d", len(before), len(after))
	}
	before = copied(before).([]any)
	for index := range before {
		if reflect.DeepEqual(before[index], after[index]) {
			continue
		}
		for at, old := range objects(before[index]) {
			current := objects(after[index])
			if at >= len(current) {
				return fmt.Errorf("an object is lost")
			}
			if err := intendedObject(old, current[at], form); err != nil {
				return err
			}
		}
		if difference := firstDifference(before[index], after[index], ""); difference != "" {
			return fmt.Errorf("%s", difference)
		}
	}
	return nil
}

// objects returns the object of a document, or the items of a list.
func objects(document any) []any {
	fields, _ := document.(map[string]any)
	if items, isList := fields["items"].([]any); isList {
		return items
	}
	return []any{document}
}

// intendedObject compares the pods of an object, and removes the intended differences from both.
func intendedObject(before, after any, form string) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	old, current := podTemplate(before), podTemplate(after)
	if old == nil || current == nil {
		return nil
	}
	entries, err := takeEnv(old, current, form)
	if err != nil {
		return err
	}
	for _, kind := range []string{"containers", "initContainers"} {
		olds, currents := containers(old, kind), containers(current, kind)
		for index, container := range olds {
			if index >= len(currents) {
				return fmt.Errorf("a container is lost")
			}
			if err := intendedContainer(container, currents[index], entries); err != nil {
				return err
			}
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("the env has entries that no handler uses: %v", sortedKeys(entries))
	}
	return nil
}

// podTemplate returns the mapping that contains the metadata and spec of the pod.
func podTemplate(object any) map[string]any {
	fields, _ := object.(map[string]any)
	if fields == nil || fields["kind"] == "Pod" {
		return fields
	}
	if template, isMapping := fields["template"].(map[string]any); isMapping {
		return template
	}
	spec, _ := fields["spec"].(map[string]any)
	if job, isMapping := spec["jobTemplate"].(map[string]any); isMapping {
		spec, _ = job["spec"].(map[string]any)
	}
	template, _ := spec["template"].(map[string]any)
	return template
}

func containers(template map[string]any, kind string) []map[string]any {
	spec, _ := template["spec"].(map[string]any)
	items, _ := spec[kind].([]any)
	var found []map[string]any
	for _, item := range items {
		if container, isMapping := item.(map[string]any); isMapping {
			found = append(found, container)
		}
	}
	return found
}

// takeEnv returns the entries of the prober env, and removes its carrier and the opt-out from both
// templates.
func takeEnv(before, after map[string]any, form string) (map[string]any, error) {
	var text string
	if form == "annotation" {
		raw, _ := annotations(after)[config].(string)
		var read struct{ ProxyMetadata map[string]any }
		if err := yaml.Unmarshal([]byte(raw), &read); err != nil {
			return nil, fmt.Errorf("the annotation cannot be read: %w", err)
		}
		escaped, _ := read.ProxyMetadata[probers].(string)
		// The template of the sidecar pastes the value between double quotes.
		if err := yaml.Unmarshal([]byte(`"`+escaped+`"`), &text); err != nil {
			return nil, fmt.Errorf("the env cannot be read: %w", err)
		}
		if err := sameConfig(annotations(before)[config], raw); err != nil {
			return nil, err
		}
	} else {
		all := containers(after, "containers")
		partial := all[len(all)-1]
		env, _ := partial["env"].([]any)
		if partial["name"] != proxy || partial["image"] != "auto" || len(env) != 1 {
			return nil, fmt.Errorf("not a partial container: %v", partial)
		}
		variable, _ := env[0].(map[string]any)
		text, _ = variable["value"].(string)
		spec := after["spec"].(map[string]any)
		items := spec["containers"].([]any)
		spec["containers"] = items[:len(items)-1]
	}
	if form != "container-only" && annotations(after)[optOut] != "false" {
		return nil, fmt.Errorf("the opt-out is missing")
	}
	written := []string{optOut, config}
	for _, template := range []map[string]any{before, after} {
		for _, name := range written[:map[bool]int{true: 2, false: 1}[form == "annotation"]] {
			delete(annotations(template), name)
		}
		dropEmpty(template)
	}
	parsed, err := value([]byte(text))
	entries, isMapping := parsed.(map[string]any)
	if err != nil || !isMapping {
		return nil, fmt.Errorf("the env is not an object: %q", text)
	}
	return entries, nil
}

// sameConfig checks that the rest of the annotation is unchanged.
func sameConfig(before any, after string) error {
	old, _ := before.(string)
	var olds, currents map[string]any
	if err := yaml.Unmarshal([]byte(old), &olds); err != nil {
		return nil
	}
	if err := yaml.Unmarshal([]byte(after), &currents); err != nil {
		return err
	}
	for _, read := range []map[string]any{olds, currents} {
		metadata, _ := read["proxyMetadata"].(map[string]any)
		delete(metadata, probers)
		if len(metadata) == 0 {
			delete(read, "proxyMetadata")
		}
	}
	if difference := firstDifference(toAny(olds), toAny(currents), config); difference != "" {
		return fmt.Errorf("%s", difference)
	}
	return nil
}

func toAny(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func annotations(template map[string]any) map[string]any {
	metadata, _ := template["metadata"].(map[string]any)
	found, _ := metadata["annotations"].(map[string]any)
	return found
}

// dropEmpty removes the mappings that a rewrite may create.
func dropEmpty(template map[string]any) {
	metadata, isMapping := template["metadata"].(map[string]any)
	if found, exists := metadata["annotations"]; exists && isEmpty(found) {
		delete(metadata, "annotations")
	}
	if found, exists := template["metadata"]; exists && (isEmpty(found) || !isMapping) {
		delete(template, "metadata")
	}
}

func isEmpty(value any) bool {
	fields, isMapping := value.(map[string]any)
	return value == nil || (isMapping && len(fields) == 0)
}

func intendedContainer(before, after map[string]any, entries map[string]any) error {
	hooks, _ := before["lifecycle"].(map[string]any)
	currentHooks, _ := after["lifecycle"].(map[string]any)
	for slot, path := range slots {
		old, current := before[slot], after[slot]
		if strings.HasPrefix(slot, "p") {
			old, current = hooks[slot], currentHooks[slot]
		}
		handler, _ := old.(map[string]any)
		rewritten, _ := current.(map[string]any)
		if handler == nil || reflect.DeepEqual(handler, rewritten) {
			continue
		}
		path := fmt.Sprintf(path, before["name"])
		if err := intendedHandler(before, handler, rewritten, entries[path], path); err != nil {
			return fmt.Errorf("%s: %w", slot, err)
		}
		delete(entries, path)
	}
	return nil
}

// intendedHandler checks a handler against its entry, and removes the intended difference from both.
func intendedHandler(container, before, after map[string]any, recorded any, path string) error {
	for _, kind := range []string{"httpGet", "tcpSocket", "grpc"} {
		action, exists := before[kind].(map[string]any)
		if !exists {
			continue
		}
		expected := map[string]any{kind: entryFor(kind, action, container)}
		if strings.HasPrefix(path, "/app-health/") {
			expected["timeoutSeconds"] = timeout(before["timeoutSeconds"])
		}
		if difference := firstDifference(expected, recorded, "entry"); difference != "" {
			return fmt.Errorf("%s", difference)
		}
		current, _ := after["httpGet"].(map[string]any)
		if _, isNumber := current["port"].(json.Number); current["path"] != path || !isNumber {
			return fmt.Errorf("the probe does not target the agent: %v", current)
		}
		if scheme := current["scheme"]; scheme != nil && scheme != "HTTP" && scheme != "" {
			return fmt.Errorf("the probe targets the agent with scheme %v", scheme)
		}
		for field := range action {
			_, isKept := current[field]
			if !isKept && field != "service" && field != "path" {
				return fmt.Errorf("%s.%s is lost", kind, field)
			}
		}
		delete(before, kind)
		delete(after, "httpGet")
		return nil
	}
	return fmt.Errorf("no handler to rewrite")
}

func timeout(value any) any {
	if value == nil || value == json.Number("0") {
		return json.Number("1")
	}
	return value
}

// entryFor returns the prober of a handler as the injector records it.
func entryFor(kind string, action, container map[string]any) map[string]any {
	entry := map[string]any{"port": portNumber(action["port"], container)}
	text := func(field, empty string) {
		value, _ := action[field].(string)
		if value == "" {
			value = empty
		}
		if value != "" || field == "service" {
			entry[field] = value
		}
	}
	switch kind {
	case "httpGet":
		text("path", "/")
		text("scheme", "HTTP")
		text("host", "")
		if headers, _ := action["httpHeaders"].([]any); len(headers) > 0 {
			entry["httpHeaders"] = headers
		}
	case "tcpSocket":
		text("host", "")
	case "grpc":
		text("service", "")
	}
	return entry
}

func portNumber(port any, container map[string]any) any {
	name, isName := port.(string)
	ports, _ := container["ports"].([]any)
	for _, declared := range ports {
		fields, _ := declared.(map[string]any)
		if isName && fields["name"] == name {
			return fields["containerPort"]
		}
	}
	return port
}
