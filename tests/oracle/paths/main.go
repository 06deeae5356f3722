// Prints the requests that the kubelet and Istio's agent send for paths of probes, one JSON object per line.
// docs/oracles.md describes it.
//
//	go run . > ../../../fixtures/istio/paths.jsonl
//	go run . 5000 7    # 5000 random paths with the seed 7
package main

import (
	"encoding/json"
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
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for _, path := range paths() {
		line := line{path, application.kubelet(path), application.agent(path)}
		if err := output.Encode(line); err != nil {
			log.Fatal(err)
		}
	}
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
