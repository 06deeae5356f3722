package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// report contains what meshprobe reports about one handler.
type report struct {
	// Errors are the messages of `check`, after the name of their rule.
	Errors []string
	// Outcome is the outcome of `predict`; empty if it does not report the handler.
	Outcome string
}

// isReported returns whether an error of `check` or the outcome of `predict` says that the handler does not work.
func (r *report) isReported() bool {
	return len(r.Errors) > 0 || r.Outcome == "refused" || r.Outcome == "broken-without-mesh"
}

// isRefused returns whether meshprobe reports that the API server refuses the handler.
func (r *report) isRefused() bool {
	for _, message := range r.Errors {
		if strings.Contains(message, "the API server refuses") {
			return true
		}
	}
	return r.Outcome == "refused"
}

func (r *report) String() string {
	outcome := r.Outcome
	if outcome == "" {
		outcome = "not reported"
	}
	return fmt.Sprintf("check: %q, predict: %s", r.Errors, outcome)
}

// manifestsPerFile keeps the files small, as in a real tree.
const manifestsPerFile = 100

// ask runs `check` and `predict` over handlers with different names, and returns the reports by name.
func ask(meshprobe string, handlers []*handler) (map[string]*report, error) {
	folder, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	found := map[string]*report{}
	for from := 0; from < len(handlers); from += manifestsPerFile {
		var text strings.Builder
		for _, h := range handlers[from:min(from+manifestsPerFile, len(handlers))] {
			text.WriteString("---\n" + h.manifest())
			found[h.name] = &report{}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d.yaml", from)), []byte(text.String()), 0o600); err != nil {
			return nil, err
		}
	}
	return found, errors.Join(askCheck(meshprobe, folder, found), askPredict(meshprobe, folder, found))
}

type object struct {
	Name string `json:"name"`
}

func askCheck(meshprobe, folder string, found map[string]*report) error {
	var answer struct {
		Findings []struct {
			Rule     string `json:"rule"`
			Severity string `json:"severity"`
			Message  string `json:"message"`
			Object   object `json:"object"`
		} `json:"findings"`
	}
	if err := run(&answer, meshprobe, folder, "check"); err != nil {
		return err
	}
	for _, finding := range answer.Findings {
		if finding.Severity != "error" {
			continue
		}
		of := found[finding.Object.Name]
		if of == nil {
			return fmt.Errorf("check reports an error outside the handlers: %s: %s", finding.Rule, finding.Message)
		}
		of.Errors = append(of.Errors, finding.Rule+": "+finding.Message)
	}
	return nil
}

func askPredict(meshprobe, folder string, found map[string]*report) error {
	var answer struct {
		Workloads []struct {
			Object   object `json:"object"`
			Handlers []struct {
				Outcome string `json:"outcome"`
			} `json:"handlers"`
		} `json:"workloads"`
	}
	if err := run(&answer, meshprobe, folder, "predict"); err != nil {
		return err
	}
	for _, workload := range answer.Workloads {
		for _, handler := range workload.Handlers {
			found[workload.Object.Name].Outcome = handler.Outcome
		}
	}
	return nil
}

// run runs meshprobe, whose exit code 1 reports findings, and decodes its output.
func run(answer any, meshprobe, folder, command string) error {
	arguments := []string{command, "--no-context", "--isolated", "--mesh", "none", "--output-format", "json", "."}
	process := exec.Command(meshprobe, arguments...)
	process.Dir = folder
	var stderr bytes.Buffer
	process.Stderr = &stderr
	output, err := process.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err == nil {
		err = json.Unmarshal(output, answer)
	}
	if err != nil {
		return fmt.Errorf("meshprobe %s: %w: %s", command, err, stderr.String())
	}
	return nil
}
