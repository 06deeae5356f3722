// Command oracle runs the sidecar injector of the Istio release that it is built against, or with -configurations the
// validation of Istio's own objects.
//
// It reads one request per line from standard input, a JSON object with `manifest`, the text of a YAML file, and
// writes one response per line: a list with one entry per workload or object. tests/oracle/istio/oracle.py compares
// them.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"istio.io/istio/pkg/log"
)

// request is one line of standard input.
type request struct {
	Manifest string `json:"manifest"`
}

func main() {
	manifests := flag.String("manifests", "", "the folder `manifests` of the Istio checkout")
	validate := flag.String("configurations", "", "validate Istio's own objects, with the ConfigMap in this `file`")
	quote := flag.Bool("quote-proxy-metadata", false, "quote the values of proxyMetadata in the injection template")
	flag.Parse()
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel)
	}
	if err := run(*manifests, *validate, *quote); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run answers the requests on standard input. What Istio prints to standard output is written to standard error.
func run(manifests, meshConfig string, quote bool) error {
	output := os.Stdout
	os.Stdout = os.Stderr
	if meshConfig != "" {
		configurations, err := newConfigurations(manifests, meshConfig)
		if err != nil {
			return err
		}
		return serve(output, configurations.create)
	}
	settings, err := renderSettings(manifests)
	if err != nil {
		return err
	}
	if quote {
		if err := settings.quoteProxyMetadata(); err != nil {
			return err
		}
	}
	webhook, err := newWebhook(settings)
	if err != nil {
		return err
	}
	return serve(output, webhook.admitManifest)
}

// serve answers requests until standard input ends.
func serve[T any](output io.Writer, answer func(manifest string) []T) error {
	encoder := json.NewEncoder(output)
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	for decoder.More() {
		var message request
		if err := decoder.Decode(&message); err != nil {
			return err
		}
		if err := encoder.Encode(answer(message.Manifest)); err != nil {
			return err
		}
	}
	return nil
}
