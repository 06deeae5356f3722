// Command oracle runs the sidecar injector of the Istio release that it is built against.
//
// It reads one request per line from standard input, a JSON object with `manifest`, the text of a YAML file, and
// writes one response per line: a list with one entry per workload. tests/oracle/istio/oracle.py compares them.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"istio.io/istio/pkg/log"
)

// request is one line of standard input.
type request struct {
	Manifest string `json:"manifest"`
}

func main() {
	manifests := flag.String("manifests", "", "the folder `manifests` of the Istio checkout")
	quote := flag.Bool("quote-proxy-metadata", false, "quote the values of proxyMetadata in the injection template")
	flag.Parse()
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel)
	}
	if err := serve(*manifests, *quote); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// serve answers requests until standard input ends.
func serve(manifests string, quote bool) error {
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
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var message request
		if err := decoder.Decode(&message); err != nil {
			return err
		}
		if err := encoder.Encode(webhook.admitManifest(message.Manifest)); err != nil {
			return err
		}
		if err := output.Flush(); err != nil {
			return err
		}
	}
	return nil
}
