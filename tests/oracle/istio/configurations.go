package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	admission "k8s.io/api/admission/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"istio.io/istio/pkg/config/crd"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/webhooks/validation/server"
)

// configurations validates Istio's own objects as at their creation: the API server with the schemas of the custom
// resources first, then the validating webhook of istiod. istioctl configures machines from the WorkloadGroups.
type configurations struct {
	schemas *crd.Validator
	webhook http.Handler
	istioctl
}

// verdict is the outcome of creating one object.
type verdict struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Object any    `json:"object"`
	// Undecoded is why kubectl cannot read the document.
	Undecoded string `json:"undecoded,omitempty"`
	// Schema is why the API server rejects the object; Webhook is why istiod does.
	Schema  string `json:"schema,omitempty"`
	Webhook string `json:"webhook,omitempty"`
	// Mesh is the `mesh.yaml` that istioctl writes for a WorkloadGroup, and MeshError is why it writes none.
	Mesh      any    `json:"mesh,omitempty"`
	MeshError string `json:"meshError,omitempty"`
}

// newConfigurations reads the schemas of the checkout, and the ConfigMap of the control plane.
func newConfigurations(manifests, meshConfig string) (*configurations, error) {
	schemas, err := crd.NewValidatorFromFiles(manifests + "/charts/base/files/crd-all.gen.yaml")
	if err != nil {
		return nil, fmt.Errorf("cannot read the schemas: %w", err)
	}
	mux := http.NewServeMux()
	_, err = server.New(server.Options{Schemas: collections.Pilot, DomainSuffix: "cluster.local", Mux: mux})
	if err != nil {
		return nil, err
	}
	istioctl, err := newIstioctl(meshConfig)
	return &configurations{schemas, mux, istioctl}, err
}

// create creates all objects of a YAML file.
func (c *configurations) create(text string) []verdict {
	verdicts := []verdict{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if err != nil {
			return verdicts
		}
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			verdicts = append(verdicts, verdict{Undecoded: err.Error()})
			continue
		}
		if object != nil {
			verdicts = append(verdicts, c.createObject(object, document))
		}
	}
}

func (c *configurations) createObject(content map[string]any, document []byte) verdict {
	// The validator fills in defaults.
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(toJSON(content))}
	answer := verdict{Kind: object.GetKind(), Name: object.GetName(), Object: content}
	if err := c.schemas.ValidateCustomResource(object); err != nil {
		answer.Schema = err.Error()
	}
	if err := c.review(content); err != nil {
		answer.Webhook = err.Error()
	}
	if answer.Kind == "WorkloadGroup" {
		mesh, err := c.configure(document)
		answer.Mesh = mesh
		if err != nil {
			answer.MeshError = err.Error()
		}
	}
	return answer
}

// toJSON returns the object with the number types of an unstructured object: int64 and float64.
func toJSON(content map[string]any) map[string]any {
	object := map[string]any{}
	if raw, err := json.Marshal(content); err == nil {
		_ = utilyaml.Unmarshal(raw, &object)
	}
	return object
}

// review sends the object to the validating webhook.
func (c *configurations) review(content map[string]any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	kind, _ := content["kind"].(string)
	review := admission.AdmissionReview{
		TypeMeta: meta.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admission.AdmissionRequest{
			UID:       "oracle",
			Kind:      meta.GroupVersionKind{Kind: kind},
			Operation: admission.Create,
			Object:    runtime.RawExtension{Raw: raw},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	answer, err := post(c.webhook, "/validate", body)
	if err != nil || answer.Allowed {
		return err
	}
	return errors.New(answer.Result.Message)
}

// post sends an AdmissionReview to a webhook. A response that does not allow the object has a message.
func post(handler http.Handler, path string, body []byte) (*admission.AdmissionResponse, error) {
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	var answer admission.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("status %d: %w", recorder.Code, err)
	}
	response := answer.Response
	if response == nil || !response.Allowed && response.Result == nil {
		return nil, fmt.Errorf("status %d without a message", recorder.Code)
	}
	return response, nil
}
