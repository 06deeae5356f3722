// Prints the requests that the kubelet and Istio's agent send for paths of probes, one JSON object per line.
// docs/oracles.md describes it.
//
//	go run . > ../../../fixtures/istio/paths.jsonl
//	go run . 5000 7    # 5000 random paths with the seed 7
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/rand"
	"os"
	"strconv"
)

// A line of the output. A target is missing if no request is sent.
type line struct {
	Path    string  `json:"path"`
	Kubelet *string `json:"kubelet"`
	Agent   *string `json:"agent"`
}

func main() {
	application, err := listen()
	if err != nil {
		log.Fatal(err)
	}
	output := json.NewEncoder(withoutDelete{os.Stdout})
	output.SetEscapeHTML(false)
	for _, path := range paths() {
		line := line{path, application.kubelet(path), application.agent(path)}
		if err := output.Encode(line); err != nil {
			log.Fatal(err)
		}
	}
}

// withoutDelete escapes the control character 0x7f, which JSON may contain and YAML may not.
type withoutDelete struct {
	io.Writer
}

func (w withoutDelete) Write(line []byte) (int, error) {
	_, err := w.Writer.Write(bytes.ReplaceAll(line, []byte{0x7f}, []byte(`\u007f`)))
	return len(line), err
}

func paths() []string {
	if len(os.Args) < 3 {
		return tablePaths()
	}
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	seed, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return randomPaths(count, rand.New(rand.NewSource(seed)))
}
