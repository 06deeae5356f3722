package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// The results of comparing one handler.
const (
	agreed     = "agreed"
	missed     = "missed"
	falseAlarm = "false alarm"
	// undecided: another field of the pod is refused, or only strict field validation refuses the handler.
	undecided = "undecided"
)

// comparison contains both answers to one handler.
type comparison struct {
	handler *handler
	server  verdict
	report  *report
}

func (c *comparison) result() string {
	switch {
	case c.server.Refused != "" && !c.report.isReported():
		return missed
	case c.server.Refused != "" || !c.report.isRefused():
		return agreed
	case c.server.Elsewhere != "" || c.server.Strict != "":
		return undecided
	default:
		return falseAlarm
	}
}

// class groups differences that have the same cause.
func (c *comparison) class() string {
	switch {
	case c.result() == missed && c.handler.List == "ephemeralContainers":
		return missed + " " + c.handler.List
	case c.result() == missed:
		return missed + " " + generic(c.server.Refused)
	}
	return falseAlarm + " " + generic(strings.Join(c.report.Errors, "; "))
}

var (
	decodeError = regexp.MustCompile(`.* Go struct field \w+\..*\.(\w+) of type (.*)`)
	variable    = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|[0-9]+|(liveness|readiness|startup)Probe|postStart|preStop")
)

// generic removes what differs between errors of the same kind: slots, values and numbers.
func generic(message string) string {
	message = decodeError.ReplaceAllString(message, "decode $1 of type $2")
	message = strings.ReplaceAll(message, "lifecycle.", "")
	return variable.ReplaceAllString(message, "…")
}

func compare(server *apiServer, meshprobe string, handlers []*handler) ([]*comparison, error) {
	reports, err := ask(meshprobe, handlers)
	if err != nil {
		return nil, err
	}
	found := make([]*comparison, len(handlers))
	for at, h := range handlers {
		judged, err := server.judge(h)
		if err != nil {
			return nil, err
		}
		found[at] = &comparison{handler: h, server: judged, report: reports[h.name]}
	}
	return found, nil
}

// table returns the number of results by kind of handler. The column `otherwise` counts handlers that the API server
// refuses and that meshprobe reports for another reason, such as an undeclared port name.
func table(comparisons []*comparison) string {
	counts := map[string]map[string]int{}
	for _, c := range comparisons {
		for _, kind := range []string{c.handler.kind(), "all"} {
			if counts[kind] == nil {
				counts[kind] = map[string]int{}
			}
			counts[kind]["compared"]++
			counts[kind][c.result()]++
			if c.server.Refused != "" {
				counts[kind]["refused"]++
				if c.report.isReported() && !c.report.isRefused() {
					counts[kind]["otherwise"]++
				}
			}
		}
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(a, b int) bool { return (kinds[a] != "all") && (kinds[b] == "all" || kinds[a] < kinds[b]) })
	columns := []string{"compared", "refused", agreed, "otherwise", undecided, missed, falseAlarm}
	var text strings.Builder
	fmt.Fprintf(&text, "%-24s", "handler")
	for _, column := range columns {
		fmt.Fprintf(&text, "%13s", column)
	}
	for _, kind := range kinds {
		fmt.Fprintf(&text, "\n%-24s", kind)
		for _, column := range columns {
			fmt.Fprintf(&text, "%13d", counts[kind][column])
		}
	}
	return text.String() + "\n"
}

// kind returns the handlers that are set, and whether they belong to a probe or a hook.
func (h *handler) kind() string {
	place := "probe"
	if h.isHook() {
		place = "hook"
	}
	set := "none"
	for _, key := range h.probe.keys {
		switch {
		case !isHandlerKey(key):
		case set == "none":
			set = key
		default:
			set = "several"
		}
	}
	return place + " " + set
}

func isHandlerKey(key string) bool {
	switch key {
	case "httpGet", "tcpSocket", "grpc", "exec", "sleep":
		return true
	default:
		return false
	}
}

// differences returns one minimised comparison for each class of differences, and the size of the classes.
func differences(server *apiServer, meshprobe string, comparisons []*comparison) ([]*comparison, []int, error) {
	var order []string
	sizes := map[string]int{}
	first := map[string]*comparison{}
	for _, c := range comparisons {
		if result := c.result(); result == agreed || result == undecided {
			continue
		}
		class := c.class()
		sizes[class]++
		if first[class] == nil {
			order = append(order, class)
			first[class] = c
		} else if len(c.handler.Text) < len(first[class].handler.Text) {
			first[class] = c
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return sizes[order[a]] > sizes[order[b]] })
	var minimal []*comparison
	var counts []int
	for _, class := range order {
		smallest, err := minimise(server, meshprobe, first[class])
		if err != nil {
			return nil, nil, err
		}
		minimal, counts = append(minimal, smallest), append(counts, sizes[class])
	}
	return minimal, counts, nil
}

// minimise removes items as long as the difference stays in its class.
func minimise(server *apiServer, meshprobe string, c *comparison) (*comparison, error) {
	for {
		candidates := c.handler.smaller()
		for at, candidate := range candidates {
			candidate.name = fmt.Sprintf("h%05d", at)
		}
		compared, err := compare(server, meshprobe, candidates)
		if err != nil {
			return nil, err
		}
		smaller := c
		for _, candidate := range compared {
			result := candidate.result()
			if (result == missed || result == falseAlarm) && candidate.class() == c.class() {
				smaller = candidate
				break
			}
		}
		if smaller == c {
			return c, nil
		}
		c = smaller
	}
}

// store writes a difference as a manifest with both answers.
func store(folder string, number, size int, c *comparison) error {
	c.handler.name = "web"
	server := "accepts it"
	if c.server.Refused != "" {
		server = "refuses " + c.server.Refused
	}
	text := fmt.Sprintf("# %s, %d times\n# API server: %s\n# meshprobe: %s\n%s", c.result(), size, server, c.report, c.handler.manifest())
	name := fmt.Sprintf("%s-%03d.yaml", strings.ReplaceAll(c.result(), " ", "-"), number)
	return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
}
