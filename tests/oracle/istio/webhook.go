package main

import (
	"encoding/json"
	"errors"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admission "k8s.io/api/admission/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
)

// webhook is Istio's own handler of admission requests.
type webhook struct {
	handler http.Handler
}

// newWebhook starts the injector as istiod does. ENABLE_NATIVE_SIDECARS is read by Istio when the process starts.
func newWebhook(s *settings) (*webhook, error) {
	config, err := mesh.ApplyMeshConfigDefaults(s.mesh)
	if err != nil {
		return nil, err
	}
	environment := model.NewEnvironment()
	environment.Watcher = meshwatcher.NewTestWatcher(config)
	push := model.NewPushContext()
	push.Mesh = config
	push.ProxyConfigs = &model.ProxyConfigs{}
	environment.SetPushContext(push)
	mux := http.NewServeMux()
	_, err = inject.NewWebhook(inject.WebhookParameters{
		Watcher:      s,
		Env:          environment,
		Mux:          mux,
		MultiCluster: multicluster.NewFakeController(),
	})
	return &webhook{mux}, err
}

// result is the outcome of creating one pod: the pod after the webhook, or why there is none.
type result struct {
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Object    any       `json:"object"`
	Undecoded string    `json:"undecoded,omitempty"`
	Denied    string    `json:"denied,omitempty"`
	Before    *core.Pod `json:"before,omitempty"`
	Pod       *core.Pod `json:"pod,omitempty"`
	Agent     *agent    `json:"agent,omitempty"`
	// Again is the pod after a second round of admission (reinvocationPolicy: IfNeeded).
	Again       *core.Pod `json:"again,omitempty"`
	AgainAgent  *agent    `json:"againAgent,omitempty"`
	AgainDenied string    `json:"againDenied,omitempty"`
}

// admitManifest creates the pods of all workloads of a YAML file.
func (w *webhook) admitManifest(text string) []result {
	results := []result{}
	for _, workload := range workloads(text) {
		results = append(results, w.admitWorkload(workload))
	}
	return results
}

func (w *webhook) admitWorkload(workload workload) result {
	answer := result{Kind: workload.kind, Name: workload.name, Object: workload.object}
	pod, err := workload.pod()
	if err != nil {
		answer.Undecoded = err.Error()
		return answer
	}
	setDefaults(pod)
	answer.Before = pod
	injected, err := w.admit(pod)
	if err != nil {
		answer.Denied = err.Error()
		return answer
	}
	answer.Pod, answer.Agent = injected, readProbers(injected)
	again, err := w.admit(injected)
	if err != nil {
		answer.AgainDenied = err.Error()
		return answer
	}
	answer.Again, answer.AgainAgent = again, readProbers(again)
	return answer
}

// admit sends a pod to the webhook as the API server does, and applies the patch and the API defaults.
func (w *webhook) admit(pod *core.Pod) (*core.Pod, error) {
	raw, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	review := admission.AdmissionReview{
		TypeMeta: meta.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admission.AdmissionRequest{
			UID:       "oracle",
			Kind:      meta.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Namespace: pod.Namespace,
			Operation: admission.Create,
			Object:    runtime.RawExtension{Raw: raw},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	answer, err := post(w.handler, "/inject", body)
	if err != nil {
		return nil, err
	}
	if !answer.Allowed {
		return nil, errors.New(answer.Result.Message)
	}
	if len(answer.Patch) == 0 {
		return pod.DeepCopy(), nil
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		return nil, err
	}
	patched, err := patch.Apply(raw)
	if err != nil {
		return nil, err
	}
	injected := &core.Pod{}
	if err := json.Unmarshal(patched, injected); err != nil {
		return nil, err
	}
	setDefaults(injected)
	return injected, nil
}
