// Command kubectl_yaml compares meshprobe with the parsers of kubectl and kustomize.
//
//	kubectl_yaml roundtrip MESHPROBE WORK DOCUMENTS SEED FOLDER...
//	kubectl_yaml serve
//	kubectl_yaml read FILE...
//
// roundtrip rewrites generated documents and the files of the folders, undoes the rewrite, and
// compares what kubectl reads at each step. serve reads requests from standard input: the length of
// a text as four bytes in big-endian order, then the text. It answers each with one line of JSON.
// read prints what both parsers read from files.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	// The run reads many small documents and keeps little of them.
	debug.SetGCPercent(800)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: kubectl_yaml roundtrip|serve|read …")
	}
	switch args[0] {
	case "roundtrip":
		return roundtrip(args[1:])
	case "serve":
		return serve(os.Stdin, os.Stdout)
	case "read":
		return printReadings(args[1:])
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

// maxBuilt is the size below which texts are also built, which is more expensive than reading them.
const maxBuilt = 128

// answer contains what the parsers read from a text. A null error means that the whole text was read.
type answer struct {
	Kubectl        []any   `json:"kubectl"`
	KubectlError   *string `json:"kubectlError"`
	Kustomize      []any   `json:"kustomize"`
	KustomizeError *string `json:"kustomizeError"`
	BuildError     *string `json:"buildError"`
}

func answerFor(text []byte) answer {
	var found answer
	var err error
	if found.Kubectl, err = readKubectl(text); err == nil && !startsWithJSON(text) {
		err = wholly(text)
	}
	if err != nil {
		found.KubectlError = message(err)
	}
	// kustomize does not terminate if an alias refers to a node that contains it.
	if bytes.ContainsRune(text, '*') {
		found.KustomizeError = message(errors.New("texts with aliases are not compared"))
		found.BuildError = found.KustomizeError
		return found
	}
	if found.Kustomize, err = readKustomize(text); err != nil {
		found.KustomizeError = message(err)
	}
	if len(text) < maxBuilt {
		err = build(text)
	}
	if err != nil {
		found.BuildError = message(err)
	}
	return found
}

// startsWithJSON reports whether kubectl reads a text as a stream of JSON objects. If the first object is not JSON, it
// reads the text as YAML.
func startsWithJSON(text []byte) bool {
	var object map[string]any
	return json.NewDecoder(bytes.NewReader(text)).Decode(&object) == nil
}

func message(err error) *string {
	text := err.Error()
	return &text
}

func serve(in io.Reader, out io.Writer) error {
	reader, writer := bufio.NewReader(in), bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	for {
		var length uint32
		err := binary.Read(reader, binary.BigEndian, &length)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(reader, text); err != nil {
			return err
		}
		if err := encoder.Encode(answerFor(text)); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func printReadings(paths []string) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := encoder.Encode(answerFor(text)); err != nil {
			return err
		}
	}
	return nil
}
