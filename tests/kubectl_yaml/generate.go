package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// A value to write is a mapping, a list, a string, an int, a bool, nil, or verbatim text.
type (
	entry    struct{ key, value any }
	mapping  []entry
	list     []any
	verbatim string
)

// generator generates workloads with probes and writes them in random styles.
type generator struct {
	random *rand.Rand
	// shared contains the values that are written once, with an anchor.
	shared mapping
	// hostile documents have line breaks of YAML 1.1, tags and merge keys in any order.
	hostile bool
}

func (g *generator) one(of ...any) any        { return of[g.random.Intn(len(of))] }
func (g *generator) text(of ...string) string { return of[g.random.Intn(len(of))] }
func (g *generator) chance(percent int) bool  { return g.random.Intn(100) < percent }

// document returns the text of one file.
func (g *generator) document() string {
	g.shared, g.hostile = nil, g.chance(30)
	workload := g.workload()
	writer := writer{generator: g, step: 2 + 2*g.random.Intn(2), indented: g.chance(50)}
	if g.chance(6) {
		return g.finished(writer.json(append(g.shared.plain(), workload...), 0, g.chance(50)))
	}
	var text strings.Builder
	if g.chance(10) {
		text.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n")
		text.WriteString(g.text("---\n", "--- # c\n", "...\n---\n"))
	} else if g.chance(20) {
		text.WriteString("---\n")
	}
	text.WriteString(writer.block(append(g.shared, workload...), 0))
	return g.finished(text.String())
}

// plain returns no shared values, because JSON does not have anchors.
func (m mapping) plain() mapping { return nil }

// finished changes the line breaks and the end of a text.
func (g *generator) finished(text string) string {
	switch {
	case g.chance(20):
		text = strings.TrimRight(text, "\n")
	case g.chance(5):
		text += "\n# the end\n"
	}
	if g.chance(5) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if g.chance(3) {
		text = "\ufeff" + text
	}
	return text
}

func (g *generator) workload() mapping {
	annotations := mapping{}
	if g.chance(30) {
		annotations = append(annotations, entry{"example.com/note", g.word()})
	}
	if g.chance(15) {
		config := g.text("holdApplicationUntilProxyStarts: true\n", "proxyMetadata:\n  A: b\n", "{}", "concurrency: 2",
			"proxyMetadata:\n  A: |\n    b")
		annotations = append(annotations, entry{"proxy.istio.io/config", config})
	}
	if g.chance(8) {
		annotations = append(annotations, entry{"sidecar.istio.io/rewriteAppHTTPProbers", g.text("true", "false")})
	}
	metadata := mapping{{"labels", mapping{{"app", "web"}}}}
	if len(annotations) > 0 || g.chance(10) {
		at := g.random.Intn(2)
		metadata = append(metadata[:at:at], append(mapping{{"annotations", annotations}}, metadata[at:]...)...)
	}
	containers := list{g.container("web")}
	if g.chance(30) {
		containers = append(containers, g.container("side"))
	}
	template := mapping{}
	if g.chance(80) {
		template = append(template, entry{"metadata", metadata})
	}
	template = append(template, entry{"spec", g.shuffled(mapping{{"containers", containers}, {"restartPolicy", "Always"}})})
	name := mapping{{"name", "web"}, {"namespace", "shop"}}
	if g.chance(15) {
		pod := mapping{{"apiVersion", "v1"}, {"kind", "Pod"}}
		if len(annotations) > 0 {
			name = append(name, entry{"annotations", annotations})
		}
		return append(pod, entry{"metadata", name}, template[len(template)-1])
	}
	spec := mapping{{"selector", mapping{{"matchLabels", mapping{{"app", "web"}}}}}, {"template", template}}
	deployment := mapping{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", name}}
	return append(deployment, entry{"spec", g.shuffled(spec)})
}

func (g *generator) shuffled(m mapping) mapping {
	if g.chance(30) {
		g.random.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	}
	return m
}

func (g *generator) container(name string) mapping {
	container := mapping{{"name", name}, {"image", "web:1"}}
	container = append(container, entry{"ports", list{mapping{{"name", "http"}, {"containerPort", 8080}}}})
	for _, slot := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if g.chance(45) {
			container = append(container, entry{slot, g.probe()})
		}
	}
	if g.chance(15) {
		hook := mapping{g.handler(false)}
		container = append(container, entry{"lifecycle", mapping{{g.text("preStop", "postStart"), hook}}})
	}
	if g.chance(25) {
		container = append(container, entry{"args", list{g.word(), g.lines()}})
	}
	return g.shuffled(container)
}

func (g *generator) probe() any {
	if g.chance(3) {
		return nil
	}
	probe := mapping{g.handler(true)}
	if g.chance(40) {
		probe = append(probe, entry{"periodSeconds", 5})
	}
	if g.chance(30) {
		probe = append(probe, entry{"timeoutSeconds", g.one(1, 3, nil)})
	}
	if g.chance(3) {
		probe = append(probe, entry{g.text("httpGet", "tcpSocket", "exec"), nil})
	}
	return g.sharedOr("probe", g.shuffled(probe))
}

func (g *generator) handler(isProbe bool) entry {
	kind := g.random.Intn(100)
	switch {
	case kind < 60:
		return entry{"httpGet", g.sharedOr("http", g.shuffled(g.httpGet()))}
	case kind < 80:
		tcp := mapping{{"port", g.one(8080, "http", 5432)}}
		if g.chance(20) {
			tcp = append(tcp, entry{"host", g.one("", nil, "db")})
		}
		return entry{"tcpSocket", g.sharedOr("tcp", g.shuffled(g.extra(tcp)))}
	case kind < 95 && isProbe:
		grpc := mapping{{"port", 9090}}
		if g.chance(50) {
			grpc = append(grpc, entry{"service", g.one("", nil, "health", "a b")})
		}
		return entry{"grpc", g.sharedOr("grpc", g.shuffled(g.extra(grpc)))}
	default:
		return entry{"exec", mapping{{"command", list{"sh", "-c", g.lines()}}}}
	}
}

func (g *generator) httpGet() mapping {
	path := g.one("/healthz", "/", "/a?b=c&d=e", "/it's", "/\"q\"", "/caf\u00e9", "", nil, "/x y", "/#z", "healthz", 8080)
	http := mapping{{"path", path}, {"port", g.one(8080, "http", 8443)}}
	if g.chance(30) {
		http = append(http, entry{"scheme", g.text("HTTP", "HTTPS", "HTTPS", "")})
	}
	if g.chance(20) {
		http = append(http, entry{"httpHeaders", list{mapping{{"name", "Host"}, {"value", g.word()}}}})
	}
	if g.chance(5) {
		http = append(http, entry{"host", g.one("", nil, "example.com")})
	}
	return g.extra(http)
}

// extra adds a field that the prober env does not record.
func (g *generator) extra(m mapping) mapping {
	if g.chance(4) {
		return append(m, entry{g.text("mode", "protocol", "x-new"), g.one("TLS", nil, "", 1)})
	}
	return m
}

// sharedOr replaces a mapping by an alias, or by a merge key and some keys of its own.
func (g *generator) sharedOr(name string, m mapping) any {
	if !g.chance(10) || len(m) == 0 {
		return m
	}
	anchor := fmt.Sprintf("%s%d", name, len(g.shared))
	g.shared = append(g.shared, entry{"x-" + anchor, anchored{anchor, m}})
	if g.chance(50) {
		return verbatim("*" + anchor)
	}
	merge := entry{verbatim("<<"), verbatim("*" + anchor)}
	own := mapping{}
	if g.chance(60) {
		own = append(own, entry{"path", g.text("/healthz", "/other")})
	}
	if g.hostile && g.chance(50) {
		return append(own, merge)
	}
	return append(mapping{merge}, own...)
}

// anchored is a mapping with an anchor.
type anchored struct {
	name  string
	value mapping
}

func (g *generator) word() string {
	return g.text("x", "two words", "true", "8080", "it's", "a: b", "# no", "", "caf\u00e9", "- x", "~", "0x1f", "a\\b")
}

// lines returns a text of one or more lines.
func (g *generator) lines() string {
	return g.text("one line", "one\ntwo\n", "one\n\ntwo", "set -e\n  indented\nlast\n", "end\n\n", "x")
}
