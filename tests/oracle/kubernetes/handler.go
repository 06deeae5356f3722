package main

import (
	"fmt"
	"strings"
)

// handler is one probe or lifecycle hook in a pod that is otherwise valid. Empty fields have the first value of their
// comment.
type handler struct {
	// Kind is Pod or Deployment.
	Kind string
	// List is containers, initContainers, sidecar (an init container that is always restarted) or
	// ephemeralContainers.
	List string
	// Slot is livenessProbe, readinessProbe, startupProbe, postStart or preStop.
	Slot string
	// Text is the probe or hook, in flow YAML.
	Text string
	// Ports is [], the ports of the container.
	Ports string
	// Container is `web`, the name of the container.
	Container string
	// Grace is 30, the seconds that the pod has to stop.
	Grace string

	probe, ports *value
	name         string
}

// slots are the fields that contain a probe or a hook.
var slots = []string{"livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"}

func (h *handler) isHook() bool {
	return h.Slot == "postStart" || h.Slot == "preStop"
}

// plainSlot returns the first slot of the same type.
func (h *handler) plainSlot() string {
	if h.isHook() {
		return "postStart"
	}
	return "livenessProbe"
}

// isSet returns whether the slot contains a value; the API treats null as not set.
func (h *handler) isSet() bool {
	return h.Text != "~"
}

// write sets the texts of the handler from its values.
func (h *handler) write() {
	h.Text = h.probe.String()
	h.Ports = ""
	if h.ports != nil {
		h.Ports = h.ports.String()
	}
}

// smaller returns the handlers with one item less, or in a plainer place.
func (h *handler) smaller() []*handler {
	var found []*handler
	add := func(change func(*handler)) {
		reduced := *h
		change(&reduced)
		reduced.write()
		found = append(found, &reduced)
	}
	if h.Kind != "" {
		add(func(h *handler) { h.Kind = "" })
	}
	if h.List != "" {
		add(func(h *handler) { h.List = "" })
	}
	if h.ports != nil {
		add(func(h *handler) { h.ports = nil })
	}
	if h.Container != "" {
		add(func(h *handler) { h.Container = "" })
	}
	if h.Grace != "" {
		add(func(h *handler) { h.Grace = "" })
	}
	if plain := h.plainSlot(); h.Slot != plain {
		add(func(h *handler) { h.Slot = plain })
	}
	for _, probe := range h.probe.smaller() {
		add(func(h *handler) { h.probe = probe })
	}
	return found
}

// manifest returns the object with the handler. tests/it/kubernetes.rs writes the same text.
func (h *handler) manifest() string {
	var text strings.Builder
	indent := ""
	if h.Kind == "Deployment" {
		fmt.Fprintf(&text, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: shop}\nspec:\n", h.name)
		text.WriteString("  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n")
		indent = "    "
	} else {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop}\nspec:\n", h.name)
	}
	line := func(format string, arguments ...any) {
		fmt.Fprintf(&text, indent+"  "+format+"\n", arguments...)
	}
	if h.Grace != "" {
		line("terminationGracePeriodSeconds: %s", h.Grace)
	}
	if h.List != "" {
		line("containers: [{name: app, image: registry.example/app:1}]")
	}
	line("%s:", h.field())
	container := h.Container
	if container == "" {
		container = "web"
	}
	line("- name: %s", container)
	line("  image: registry.example/web:1")
	if h.List == "sidecar" {
		line("  restartPolicy: Always")
	}
	if h.Ports != "" {
		line("  ports: %s", h.Ports)
	}
	if h.isHook() {
		line("  lifecycle: {%s: %s}", h.Slot, h.Text)
	} else {
		line("  %s: %s", h.Slot, h.Text)
	}
	return text.String()
}

// field returns the field of the pod spec that contains the container.
func (h *handler) field() string {
	switch h.List {
	case "":
		return "containers"
	case "sidecar":
		return "initContainers"
	default:
		return h.List
	}
}
