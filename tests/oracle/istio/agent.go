package main

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"
	core "k8s.io/api/core/v1"

	"istio.io/istio/pilot/cmd/pilot-agent/status"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/kube/inject"
)

// agent is what the status server of pilot-agent reads from the environment of the sidecar.
type agent struct {
	// Env contains each value of ISTIO_KUBE_APP_PROBERS; the kubelet passes the last one.
	Env     []string              `json:"env"`
	Probers status.KubeAppProbers `json:"probers,omitempty"`
	Error   string                `json:"error,omitempty"`
}

// readProbers starts the status server with the prober env of the pod. It returns nil if there is no sidecar.
func readProbers(pod *core.Pod) *agent {
	sidecar := inject.FindSidecar(pod)
	if sidecar == nil {
		return nil
	}
	found := &agent{Env: []string{}}
	value := ""
	for _, env := range sidecar.Env {
		if env.Name == status.KubeAppProberEnvName {
			value = env.Value
			found.Env = append(found.Env, value)
		}
	}
	found.start(value)
	return found
}

// start records an error if the status server does not start. It panics on the prober `null`.
func (a *agent) start(value string) {
	defer func() {
		if recover() != nil {
			a.Error = "the status server panics"
		}
	}()
	_, err := status.NewServer(status.Options{
		PodIP:              "127.0.0.1",
		KubeAppProbers:     value,
		NodeType:           model.SidecarProxy,
		StatusPort:         15020,
		NoEnvoy:            true,
		PrometheusRegistry: prometheus.NewRegistry(),
	})
	if err != nil {
		a.Error = err.Error()
	} else if value != "" {
		if err := json.Unmarshal([]byte(value), &a.Probers); err != nil {
			a.Error = err.Error()
		}
	}
}
