// Command prober runs probes with the code of the kubelet:  prober < PROBES.JSON > RESULTS.JSON
//
// PROBES.JSON is a list of {"key", "address", "ports", "probe"}; `probe` is the readiness probe of a manifest, `ports`
// the named ports of its container, `address` the address of its pod. RESULTS.JSON: key -> {"passed", "text"}; `text` is
// the event of the kubelet. tests/live/prober.py, the stand-in, reads and writes the same.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
)

// atOnce limits the probes that run at the same time.
const atOnce = 64

type request struct {
	Key     string           `json:"key"`
	Address string           `json:"address"`
	Ports   map[string]int32 `json:"ports"`
	Probe   *v1.Probe        `json:"probe"`
}

type result struct {
	Passed bool   `json:"passed"`
	Text   string `json:"text"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		return err
	}
	found := make([]result, len(requests))
	free := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for at := range requests {
		free <- struct{}{}
		running.Go(func() {
			found[at] = requests[at].run()
			<-free
		})
	}
	running.Wait()
	byKey := map[string]result{}
	for at, request := range requests {
		byKey[request.Key] = found[at]
	}
	return json.NewEncoder(os.Stdout).Encode(byKey)
}

// run runs the probe once, with the retries of the kubelet.
func (r *request) run() result {
	pod := r.pod()
	recorder := record.NewFakeRecorder(1)
	status := v1.PodStatus{PodIP: r.Address}
	outcome, _ := probe(newProber(nil, recorder), context.Background(), readiness, pod, status, pod.Spec.Containers[0], containerID)
	made := result{Passed: outcome == results.Success}
	select {
	case event := <-recorder.Events:
		// The event starts with its type and reason, such as `Warning Unhealthy`.
		if words := strings.SplitN(event, " ", 3); !made.Passed && len(words) == 3 {
			made.Text = words[2]
		}
	default:
	}
	return made
}

// pod returns a pod with the probe and the defaults of the API server.
func (r *request) pod() *v1.Pod {
	container := v1.Container{Name: "web", Image: "registry.example/web:1", ReadinessProbe: r.Probe}
	for name, number := range r.Ports {
		container.Ports = append(container.Ports, v1.ContainerPort{Name: name, ContainerPort: number})
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "0"},
		Spec:       v1.PodSpec{Containers: []v1.Container{container}},
	}
	corev1.SetObjectDefaults_Pod(pod)
	return pod
}
