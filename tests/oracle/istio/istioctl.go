package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"istio.io/istio/istioctl/pkg/cli"
	machine "istio.io/istio/istioctl/pkg/workload"
)

// The revision and the namespace of the control plane in the fake cluster that istioctl reads.
const (
	revision       = "default"
	istioNamespace = "istio-system"
)

// istioctl writes the files of a machine, as `istioctl experimental workload entry configure` does.
type istioctl struct {
	meshConfig *core.ConfigMap
}

// newIstioctl reads the ConfigMap of the control plane from a file.
func newIstioctl(file string) (istioctl, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return istioctl{}, err
	}
	found := &core.ConfigMap{}
	if err := yaml.UnmarshalStrict(text, found); err != nil {
		return istioctl{}, fmt.Errorf("%s: %w", file, err)
	}
	return istioctl{found}, nil
}

// configure returns the content of `mesh.yaml` for the first WorkloadGroup of a file.
func (i istioctl) configure(document []byte) (any, error) {
	folder, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	input, output := filepath.Join(folder, "input.yaml"), filepath.Join(folder, "output")
	if err := os.WriteFile(input, document, 0o600); err != nil {
		return nil, err
	}
	cluster := cli.NewFakeContext(&cli.NewFakeContextOption{IstioNamespace: istioNamespace})
	client, err := cluster.CLIClientWithRevision(revision)
	if err != nil {
		return nil, err
	}
	create := client.Kube().CoreV1().ConfigMaps(istioNamespace).Create
	if _, err := create(context.Background(), i.meshConfig, meta.CreateOptions{}); err != nil {
		return nil, err
	}
	command := machine.Cmd(cluster)
	command.SetArgs([]string{"entry", "configure", "-f", input, "-o", output, "--clusterID", "Kubernetes",
		"--ingressIP", "192.0.2.1", "--revision", revision})
	command.SetOut(&bytes.Buffer{})
	command.SetErr(&bytes.Buffer{})
	// The certificate and the token, which the fake cluster does not have, are written after mesh.yaml.
	failure := command.Execute()
	text, err := os.ReadFile(filepath.Join(output, "mesh.yaml"))
	if err != nil {
		return nil, failure
	}
	var mesh any
	return mesh, yaml.Unmarshal(text, &mesh)
}
