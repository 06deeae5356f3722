package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// forms contains the values of `meshprobe rewrite --form`, with their share of the documents in
// percent.
var forms = []struct {
	name  string
	share int
}{{"annotation", 60}, {"container", 20}, {"container-only", 20}}

// maxFile is the size from which files of the folders are left out.
const maxFile = 1 << 18

// counts contains the results that are printed at the end.
type counts struct {
	files    int
	outcomes [4]int
	failures []string
}

// Outcomes of a file.
const (
	// unread is the outcome of a file that kubectl rejects.
	unread = iota
	unchanged
	// extended is the outcome of a file that contained parts of a rewrite before.
	extended
	rewritten
)

func roundtrip(args []string) error {
	if len(args) < 4 {
		return errors.New("usage: kubectl_yaml roundtrip MESHPROBE WORK DOCUMENTS SEED FOLDER...")
	}
	documents, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	maker := &generator{random: rand.New(rand.NewSource(seed))}
	var failures []string
	for _, form := range forms {
		texts := make([][]byte, 0, documents)
		for range documents * form.share / 100 {
			texts = append(texts, []byte(maker.document()))
		}
		least := len(texts) / 4
		failures = append(failures, compareAll(args[0], filepath.Join(args[1], form.name), form.name, texts, least)...)
	}
	if len(args) > 4 {
		texts, err := filesBelow(args[4:])
		if err != nil {
			return err
		}
		failures = append(failures, compareAll(args[0], filepath.Join(args[1], "files"), "annotation", texts, len(texts)/20)...)
	}
	for _, failure := range failures[:min(len(failures), 20)] {
		fmt.Println(failure)
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d failures", len(failures))
	}
	return nil
}

func filesBelow(folders []string) (texts [][]byte, err error) {
	for _, folder := range folders {
		err = filepath.WalkDir(folder, func(path string, found fs.DirEntry, err error) error {
			if err != nil || !found.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if len(text) < maxFile {
				texts = append(texts, text)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// compareAll writes the texts to a folder, rewrites and undoes them, and returns the failures. It
// fails if fewer than least texts are rewritten, because most comparisons would be skipped.
func compareAll(meshprobe, folder, form string, texts [][]byte, least int) []string {
	found := counts{files: len(texts)}
	if err := writeAll(folder, texts); err != nil {
		return []string{err.Error()}
	}
	refused, err := syntaxErrors(meshprobe, folder)
	if err != nil {
		return []string{err.Error()}
	}
	assume := []string{"--assume", "injection=all", "--mesh-version", "1.28"}
	steps := [][]string{append(assume, "--form", form), {"--undo"}}
	var after [2][][]byte
	for step, options := range steps {
		if err := rewrite(meshprobe, folder, options); err != nil {
			return []string{err.Error()}
		}
		if after[step], err = readAll(folder, len(texts)); err != nil {
			return []string{err.Error()}
		}
	}
	var guard sync.Mutex
	var group sync.WaitGroup
	for worker := range runtime.NumCPU() {
		group.Go(func() {
			for index := worker; index < len(texts); index += runtime.NumCPU() {
				path := filepath.Join(folder, name(index))
				outcome, failure := compareOne(texts[index], after[0][index], after[1][index], form)
				if line, isRefused := refused[name(index)]; isRefused && outcome != unread && isWhollyRead(texts[index]) {
					failure = fmt.Sprintf("line %s: kubectl reads it, check reports a syntax error", line)
				}
				guard.Lock()
				found.outcomes[outcome]++
				if failure != "" {
					found.failures = append(found.failures, fmt.Sprintf("%s (%s): %s", path, form, failure))
				}
				guard.Unlock()
			}
		})
	}
	group.Wait()
	sort.Strings(found.failures)
	fmt.Printf("     %s, form %s: %d files, %d rewritten, %d extended, %d unchanged, %d not read by kubectl, %d failures\n",
		filepath.Base(folder), form, found.files, found.outcomes[rewritten], found.outcomes[extended], found.outcomes[unchanged], found.outcomes[unread], len(found.failures))
	if found.outcomes[rewritten] < least {
		failure := fmt.Sprintf("%s: %d files are rewritten, expected at least %d", folder, found.outcomes[rewritten], least)
		found.failures = append(found.failures, failure)
	}
	return found.failures
}

// compareOne returns the outcome of a text, and its failure, if any.
func compareOne(text, after, undone []byte, form string) (outcome int, failure string) {
	before, err := readKubectl(text)
	switch {
	case err != nil:
		return unread, ""
	case bytes.Equal(text, after):
		return unchanged, ""
	case bytes.Contains(text, []byte(probers)) || bytes.Contains(text, []byte(proxy)):
		// Parts of the text were rewritten before, or have their own carrier: undoing also affects these parts.
		_, err := readKubectl(after)
		if err != nil {
			return extended, err.Error()
		}
		return extended, ""
	}
	shown := fmt.Sprintf("\n--- before\n%s\n--- rewritten\n%s\n--- undone\n%s", text, after, undone)
	if err := intended(before, after, form); err != nil {
		return rewritten, err.Error() + shown
	}
	if bytes.Equal(undone, after) {
		return rewritten, "not undone" + shown
	}
	if bytes.Equal(undone, text) {
		return rewritten, ""
	}
	if err := restored(before, undone); err != nil {
		return rewritten, err.Error() + shown
	}
	return rewritten, ""
}

// isWhollyRead reports whether kubectl reads all of a text, and YAML 1.2 does not forbid or
// reinterpret one of its characters. tests/it/yaml/kubectl_readings.rs makes the same exceptions.
func isWhollyRead(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.ContainsAny(text, "\u0085\u2028\u2029\ufeff") {
		return false
	}
	return startsWithJSON(text) || wholly(text) == nil
}

// name returns the path of a text. Each text has its own folder, so that it does not affect others.
func name(index int) string { return fmt.Sprintf("%03d/%05d/web.yaml", index/500, index) }

func writeAll(folder string, texts [][]byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for index, text := range texts {
		path := filepath.Join(folder, name(index))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readAll(folder string, count int) ([][]byte, error) {
	texts := make([][]byte, 0, count)
	for index := range count {
		text, err := os.ReadFile(filepath.Join(folder, name(index)))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func rewrite(meshprobe, folder string, options []string) error {
	args := append([]string{"rewrite", "--write", "--isolated", "--no-ignore", "--quiet"}, options...)
	_, err := output(meshprobe, folder, append(args, "."))
	return err
}

// syntaxErrors returns the lines of the first syntax errors that check reports, by path.
func syntaxErrors(meshprobe, folder string) (map[string]string, error) {
	args := []string{"check", "--isolated", "--no-ignore", "--output-format", "json", "."}
	out, err := output(meshprobe, folder, args)
	if err != nil {
		return nil, err
	}
	var report struct {
		Findings []struct {
			Rule    string
			Path    string
			Line    int
			Message string
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, finding := range report.Findings {
		if finding.Rule != "syntax-error" || isStricter(finding.Message) {
			continue
		}
		if finding.Path == "" {
			return nil, errors.New("a finding of check has no path")
		}
		found[strings.TrimPrefix(filepath.ToSlash(finding.Path), "./")] = strconv.Itoa(finding.Line)
	}
	return found, nil
}

// isStricter tells whether a syntax error is about white space that kubectl reads although YAML 1.2 forbids it; see
// tests/it/yaml/kubectl_readings.rs.
func isStricter(message string) bool {
	for _, known := range []string{
		"comments must be separated from other tokens by whitespace",
		"tab cannot be used as indentation",
		"a BOM must not appear inside a document",
		"simple key expected ':'",
	} {
		if strings.Contains(message, known) {
			return true
		}
	}
	return false
}

// output runs meshprobe and returns its standard output. Status 1 is not an error: it means findings
// or refused pods.
func output(meshprobe, folder string, args []string) ([]byte, error) {
	command := exec.Command(meshprobe, args...)
	command.Dir = folder
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	err := command.Run()
	if command.ProcessState != nil && command.ProcessState.ExitCode() <= 1 && command.ProcessState.Exited() {
		return out.Bytes(), nil
	}
	return nil, fmt.Errorf("meshprobe %s: %w\n%s", strings.Join(args, " "), err, errors.String())
}

// sortedKeys returns the sorted keys of a mapping.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
