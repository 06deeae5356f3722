// Command kubernetes compares meshprobe with the API server of Kubernetes.
//
//	kubernetes [--seed N] [--count N] [--out FOLDER] [--record FILE] MESHPROBE
//
// It generates handlers of probes and lifecycle hooks, decodes, defaults and validates each with the code of the API
// server, and compares the verdict with `meshprobe check` and `meshprobe predict`. --out is the folder for one
// minimised manifest of each kind of difference. --record writes the handlers and the verdicts (record.go).
//
// Exit codes: 0 no difference; 1 differences; 2 the comparison failed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	seed := flag.Uint64("seed", 1, "the `number` from which the handlers are generated")
	count := flag.Int("count", 6000, "the `number` of handlers")
	out := flag.String("out", "", "the `folder` for minimised differences")
	record := flag.String("record", "", "the `file` for the handlers and the verdicts of the API server")
	flag.Parse()
	if flag.NArg() != 1 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	isEqual, err := runComparison(*seed, *count, *out, *record, flag.Arg(0))
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	case !isEqual:
		os.Exit(1)
	}
}

func runComparison(seed uint64, count int, out, record, meshprobe string) (bool, error) {
	meshprobe, err := filepath.Abs(meshprobe)
	if err != nil {
		return false, err
	}
	server := newAPIServer()
	comparisons, err := compare(server, meshprobe, newGenerator(seed).handlers(count))
	if err != nil {
		return false, err
	}
	fmt.Printf("Kubernetes %s, seed %d\n%s", kubernetesVersion(), seed, table(comparisons))
	if record != "" {
		if err := write(record, seed, comparisons); err != nil {
			return false, err
		}
	}
	minimal, sizes, err := differences(server, meshprobe, comparisons)
	if err != nil {
		return false, err
	}
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return false, err
		}
	}
	for at, c := range minimal {
		fmt.Printf("DIFFERENT %s\n", c.describe(sizes[at]))
		if out != "" {
			if err := store(out, at+1, sizes[at], c); err != nil {
				return false, err
			}
		}
	}
	return len(minimal) == 0, nil
}

func (c *comparison) describe(size int) string {
	h := c.handler
	text := fmt.Sprintf("%s (%d): %s %s: %s", c.result(), size, h.field(), h.Slot, h.Text)
	if h.Ports != "" {
		text += " ports: " + h.Ports
	}
	if h.Container != "" {
		text += " name: " + h.Container
	}
	if h.Grace != "" {
		text += " grace period: " + h.Grace
	}
	if c.server.Refused != "" {
		return text + "\n  API server: " + c.server.Refused
	}
	return text + "\n  meshprobe: " + c.report.String()
}
