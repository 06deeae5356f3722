package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// write records the handlers and the verdicts of the API server, for tests/it/kubernetes.rs. Handlers in the same place
// with the same verdict are one group. The format is described in fixtures/kubernetes/README.md.
func write(path string, seed uint64, comparisons []*comparison) error {
	groups := map[string][]string{}
	for _, c := range comparisons {
		group := c.handler.place() + "\n" + c.answer()
		groups[group] = append(groups[group], c.handler.line())
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var text strings.Builder
	fmt.Fprintf(&text, "# Kubernetes %s, seed %d, %d handlers\n", kubernetesVersion(), seed, len(comparisons))
	last := ""
	for _, key := range keys {
		place, answer, _ := strings.Cut(key, "\n")
		if place != last {
			fmt.Fprintf(&text, "@ %s\n", place)
			last = place
		}
		fmt.Fprintln(&text, answer)
		lines := groups[key]
		sort.Strings(lines)
		for _, line := range lines {
			fmt.Fprintln(&text, line)
		}
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}

// answer returns the verdict as a line: `- ` and the reason if the handler is refused, `? ` and the reason if another
// field is refused, otherwise `+`.
func (c *comparison) answer() string {
	server := c.server
	switch {
	case server.Refused != "":
		reason := strings.TrimPrefix(server.reason(), "lifecycle.")
		return "- " + strings.TrimPrefix(reason, c.handler.Slot+".")
	case server.Elsewhere != "":
		return "? another field"
	case server.Strict != "":
		return "? strict field validation"
	default:
		return "+"
	}
}

// place returns the kind of the object, the list of containers and the slot.
func (h *handler) place() string {
	kind, list := h.Kind, h.List
	if kind == "" {
		kind = "Pod"
	}
	if list == "" {
		list = "containers"
	}
	return strings.Join([]string{kind, list, h.Slot}, " ")
}

// usualPort is the port of the generator that most containers declare.
const usualPort = "{name: http, containerPort: 8080}"

// line returns the handler, the ports and the name of its container, and the grace period, separated by tabs. Empty
// columns at the end are omitted.
func (h *handler) line() string {
	ports := strings.ReplaceAll(h.Ports, usualPort, "http")
	return strings.TrimRight(strings.Join([]string{h.Text, ports, h.Container, h.Grace}, "\t"), "\t")
}
