package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes handlers from a seed: a valid handler in a random place, with up to two changes from `changes`.
// About half of the results are valid. The same seed makes the same handlers, whatever their number.
type generator struct {
	*rand.Rand
	seen map[string]bool
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0)), seen: map[string]bool{}}
}

// handlers returns different handlers.
func (g *generator) handlers(count int) []*handler {
	found := make([]*handler, 0, count)
	for len(found) < count {
		made := g.handler()
		key := fmt.Sprint(made.Kind, made.List, made.Slot, made.Text, made.Ports, made.Container, made.Grace)
		if g.seen[key] {
			continue
		}
		g.seen[key] = true
		made.name = fmt.Sprintf("h%05d", len(found))
		found = append(found, made)
	}
	return found
}

func (g *generator) handler() *handler {
	made := &handler{Slot: g.of(slots...), Kind: g.often("", "Deployment"), List: g.place()}
	made.ports = g.ports()
	made.probe = mapping()
	kind := g.of("httpGet", "httpGet", "httpGet", "tcpSocket", "tcpSocket", "grpc", "exec")
	if made.isHook() {
		kind = g.of("httpGet", "httpGet", "tcpSocket", "exec", "sleep")
	}
	made.probe.set(kind, g.action(kind, made))
	if !made.isHook() {
		g.timing(made)
	}
	if kind == "sleep" && g.IntN(4) == 0 {
		made.Grace = g.of("0", "1", "10", "31", "60", "~", "9223372036854775807")
	}
	for range g.of("", "1", "1", "1", "22") {
		g.change(made, kind)
	}
	made.write()
	return made
}

// place returns a list of containers; most handlers belong to ordinary containers.
func (g *generator) place() string {
	switch number := g.IntN(40); {
	case number < 30:
		return ""
	case number < 36:
		return "sidecar"
	case number < 39:
		return "initContainers"
	default:
		return "ephemeralContainers"
	}
}

// of returns one of some texts.
func (g *generator) of(texts ...string) string {
	return texts[g.IntN(len(texts))]
}

// often returns the first of two texts in four of five cases.
func (g *generator) often(usual, rare string) string {
	if g.IntN(5) == 0 {
		return rare
	}
	return usual
}

func (g *generator) ports() *value {
	if g.IntN(2) == 0 {
		return nil
	}
	ports := list(mapping("name", "http", "containerPort", "8080"))
	if g.IntN(4) == 0 {
		name := g.of("admin", "a-b", "80-a", "HTTP", "a_b", "8080", "name-of-16-bytess", `""`)
		number := g.of("9090", "9090", "0", "65535", "65536", "-1", `"9090"`)
		ports.items = append(ports.items, mapping("name", name, "containerPort", number))
	}
	return ports
}

func (g *generator) port(made *handler) string {
	if made.ports != nil && g.IntN(2) == 0 {
		return "http"
	}
	return g.of("8080", "8080", "1", "65535", "15020", fmt.Sprint(1+g.IntN(65535)))
}

// action returns a valid handler, with all forms of the fields that the API server does not validate.
func (g *generator) action(kind string, made *handler) *value {
	action := mapping()
	maybe := func(key string, item any) {
		if g.IntN(3) == 0 {
			action.set(key, asValue(item))
		}
	}
	switch kind {
	case "httpGet":
		maybe("path", g.of(paths...))
		action.set("port", scalar(g.port(made)))
		maybe("scheme", g.of("HTTP", "HTTPS", `""`, "~"))
		maybe("host", g.of(hosts...))
		maybe("httpHeaders", g.headers())
	case "tcpSocket":
		action.set("port", scalar(g.port(made)))
		maybe("host", g.of(hosts...))
	case "grpc":
		action.set("port", scalar(g.of("8080", "1", "65535", fmt.Sprint(1+g.IntN(65535)))))
		maybe("service", g.of("health", `""`, "a.b/C", "~", `"0"`))
	case "exec":
		command := list(scalar(g.of("ls", "/bin/true", `""`, `"a b"`)))
		for range g.IntN(3) {
			command.items = append(command.items, scalar(g.of("-c", `"1"`, "x", "~")))
		}
		action.set("command", command)
	case "sleep":
		action.set("seconds", scalar(g.of("1", "5", "29", "30", fmt.Sprint(1+g.IntN(30)))))
	}
	return action
}

var paths = []string{
	"/", "/healthz", "healthz", `""`, "~", `"/a?b=c&d"`, `"/a#b"`, "http://example.com/x", `"/%zz"`, `"/a b"`, `"/%20"`,
	`"//a"`, `"?a"`, `"#a"`, "/ä", `":"`, `"/a\nb"`, "../x",
}

var hosts = []string{
	`""`, "~", "10.0.0.1", `"::1"`, `"[::1]"`, "127.0.0.1", "localhost", "example.com", "EXAMPLE", `"a b"`, "a_b", "-a",
	`"example.com:80"`, "http://example.com", `"%"`, "ä",
}

func (g *generator) headers() *value {
	headers := list()
	for range g.IntN(4) {
		name := g.of("Host", "X-A", "x-a", "A", "Accept", "User-Agent", `"!#$%&'*+-.^_|~"`, `"0"`)
		headers.items = append(headers.items, mapping("name", name, "value", g.of("a", `""`, `"a b"`, `"true"`, `"a\nb"`, "ä", "~")))
	}
	return headers
}

// timing adds valid numbers.
func (g *generator) timing(made *handler) {
	for _, key := range []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"} {
		if g.IntN(6) == 0 {
			made.probe.set(key, scalar(g.of("0", "1", "2", "30", "2147483647", "~", "5.0")))
		}
	}
	if g.IntN(6) == 0 {
		valid := []string{"0", "1", "~"}
		if made.Slot == "readinessProbe" {
			valid = append(valid, "2", "2147483647")
		}
		made.probe.set("successThreshold", scalar(g.of(valid...)))
	}
	if made.Slot != "readinessProbe" && g.IntN(6) == 0 {
		made.probe.set("terminationGracePeriodSeconds", scalar(g.of("1", "60", "~", "4294967296")))
	}
}

// change makes one change, which often makes the handler invalid.
func (g *generator) change(made *handler, kind string) {
	action := made.probe.get(kind)
	switch {
	case action == nil || !action.isMap:
		g.changeTiming(made)
	case g.IntN(12) == 0:
		g.changeShape(made, kind)
	case g.IntN(12) == 0:
		made.Container = g.of("a", "0", "A", "a.b", "a_b", "-a", "a-", `""`, "~", strings.Repeat("a", 63), strings.Repeat("a", 64), "1", "true", "ä")
	case g.IntN(4) == 0 && !made.isHook():
		g.changeTiming(made)
	case g.IntN(10) == 0:
		g.addHandler(made)
	default:
		g.changeAction(action, kind)
	}
}

// wrong are scalars and values of another type than most fields.
var wrong = []string{"a", `""`, `"1"`, "1", "1.5", "true", "~", "[]", "{}", "[1]", "{a: b}", "-1", "0", "3000000000", "1e3", "0x10", "010", "1_0"}

func (g *generator) changeTiming(made *handler) {
	key := g.of("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold", "successThreshold",
		"terminationGracePeriodSeconds", "timeoutSecond")
	if g.IntN(2) == 0 {
		made.probe.set(key, scalar(g.of("-1", "0", "1", "2", "10", "-2147483648", "2147483648", "-2147483649", "9223372036854775808")))
	} else {
		made.probe.set(key, scalar(g.of(wrong...)))
	}
}

// changeShape replaces the handler or the probe.
func (g *generator) changeShape(made *handler, kind string) {
	at := 0
	switch g.IntN(5) {
	case 0:
		made.probe = made.probe.without(at)
	case 1:
		made.probe = made.probe.with(at, scalar(g.of("~", "{}", "[]", `""`, "a", "8080", "true")))
	case 2:
		made.probe = scalar(g.of("~", "{}", "[]", `""`, "a", "8080", "true"))
	case 3:
		made.probe.keys[at] = g.of(strings.ToLower(kind), strings.ToUpper(kind), kind+"s", "http", "tcp", "gRPC", "command")
	default:
		made.probe.keys[at] = g.of("httpGet", "tcpSocket", "grpc", "exec", "sleep")
	}
}

func (g *generator) addHandler(made *handler) {
	key := g.of("httpGet", "tcpSocket", "grpc", "exec", "sleep")
	switch g.IntN(4) {
	case 0:
		made.probe.set(key, scalar(g.of("~", "{}")))
	default:
		made.probe.set(key, g.action(key, made))
	}
}

func (g *generator) changeAction(action *value, kind string) {
	var keys []string
	switch kind {
	case "httpGet":
		keys = []string{"port", "port", "port", "port", "httpHeaders", "httpHeaders", "scheme", "scheme", "path", "host", "protocol", "unknown"}
	case "tcpSocket":
		keys = []string{"port", "port", "port", "port", "host", "unknown"}
	case "grpc":
		keys = []string{"port", "port", "service", "mode", "unknown"}
	case "exec":
		keys = []string{"command", "command", "command", "unknown"}
	case "sleep":
		keys = []string{"seconds", "seconds", "unknown"}
	}
	key := g.of(keys...)
	if g.IntN(8) == 0 {
		g.remove(action, key)
		return
	}
	action.set(key, g.changed(key))
}

func (g *generator) remove(action *value, key string) {
	for at, name := range action.keys {
		if name == key {
			*action = *action.without(at)
			return
		}
	}
}

// changed returns another value of a field: the border cases of the field, else one of `wrong`.
func (g *generator) changed(key string) *value {
	if g.IntN(6) == 0 {
		return scalar(g.of(wrong...))
	}
	switch key {
	case "port":
		return scalar(g.of(ports...))
	case "scheme":
		return scalar(g.of("http", "https", "Http", "HTTPs", "FTP", "H2C", `" HTTP"`, "TCP", `""`))
	case "path":
		return scalar(g.of(paths...))
	case "host":
		return scalar(g.of(hosts...))
	case "protocol":
		return scalar(g.of("HTTP1", "HTTP2", "HTTP/2", `""`, "h2c"))
	case "mode":
		return scalar(g.of("Plaintext", "TLS", "tls", `""`))
	case "service":
		return scalar(g.of("health", `" "`, "1.0", "no", "2020-01-01"))
	case "command":
		return g.changedCommand()
	case "seconds":
		return scalar(g.of("0", "1", "-1", "30", "31", "3600", "9223372036854775807"))
	case "httpHeaders":
		return g.changedHeaders()
	default:
		return scalar("x")
	}
}

var ports = []string{
	"0", "-1", "65536", "70000", "2147483648", "8080.0", "8080.5", "0x1F90", "08080", "017620", "0o17620", "8_080", "1e3", "+8080",
	`"8080"`, `"0"`, `"70000"`, `" 8080"`, `"80a"`, `""`, "~", "http", "web", "HTTP", "a-b", "-a", "a-", "a--b", "a_b", "a.b",
	"fifteen-bytes-1", "sixteen-bytes-12", "80-a", `"-1"`, "true", "[8080]", "{}", "a b", "ä", `"1-1"`, "8080/tcp",
}

func (g *generator) changedCommand() *value {
	switch g.IntN(6) {
	case 0:
		return list()
	case 1:
		return scalar(g.of("ls", `"ls -l"`, "~", "{}"))
	case 2:
		return list(scalar("ls"), scalar(g.of("1", "true", "1.5", "~", "[a]", "{a: b}")))
	default:
		return list(scalar(g.of("~", `""`, "sh")))
	}
}

func (g *generator) changedHeaders() *value {
	name := g.of(`""`, "~", `"a b"`, "a:b", `"a:"`, "ä", "a/b", "(a)", "1", "true", "Host", "X_A", `" A"`, "[]")
	header := mapping("name", name, "value", g.of("a", "1", "true", "~", "yes", "1.5", "[]"))
	switch g.IntN(8) {
	case 0:
		header = header.without(0)
	case 1:
		header = header.without(1)
	case 2:
		return scalar(g.of("~", "{}", "a", "[~]", "[[]]", "[a]", "[{}]"))
	}
	headers := g.headers()
	headers.items = append(headers.items, header)
	return headers
}
