package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"sigs.k8s.io/yaml"
)

// verdict is the answer of the API server to one object.
type verdict struct {
	// Refused contains the first error that concerns the handler; it is empty if there is none.
	Refused string
	// Elsewhere contains the first error of another field, such as a port that the container declares.
	Elsewhere string
	// Strict contains the error of strict field validation, which kubectl requests: unknown and duplicate fields.
	Strict string
}

// apiServer creates objects as the API server does, without storing them.
type apiServer struct {
	decoder runtime.Decoder
}

func newAPIServer() *apiServer {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	json, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return &apiServer{decoder: codecs.DecoderToVersion(json.StrictSerializer, runtime.InternalGroupVersioner)}
}

// judge decodes an object with the defaults of its version, and validates it as at its creation.
func (s *apiServer) judge(h *handler) (verdict, error) {
	text, err := yaml.YAMLToJSON([]byte(h.manifest()))
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", h.manifest(), err)
	}
	object, _, err := s.decoder.Decode(text, nil, nil)
	var found verdict
	if runtime.IsStrictDecodingError(err) {
		found.Strict = err.Error()
	} else if err != nil {
		// Only the handler and the ports of the generator have values of other types.
		if strings.Contains(err.Error(), "ContainerPort") || !h.isSet() {
			found.Elsewhere = "decode: " + oneLine(err.Error())
		} else {
			found.Refused = "decode: " + oneLine(err.Error())
		}
		return found, nil
	}
	strategy, err := strategyOf(object)
	if err != nil {
		return verdict{}, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return verdict{}, err
	}
	rest.FillObjectMetaSystemFields(accessor)
	err = rest.BeforeCreate(strategy, requestContext(h), object)
	var status *apierrors.StatusError
	switch {
	case err == nil:
	case errors.As(err, &status) && status.ErrStatus.Details != nil:
		found.add(h, status.ErrStatus.Details.Causes)
	default:
		return verdict{}, fmt.Errorf("%s: %w", h.manifest(), err)
	}
	return found, nil
}

// add records the causes of a refusal. A container name concerns the handler too: it is a part of its path.
func (v *verdict) add(h *handler, causes []metav1.StatusCause) {
	for _, cause := range causes {
		_, field, isOfContainer := strings.Cut(cause.Field, h.field()+"[0].")
		if !isOfContainer {
			field = cause.Field
		}
		of := &v.Elsewhere
		isOfHandler := strings.Contains(field, "Probe") || strings.HasPrefix(field, "lifecycle") || field == "name"
		if isOfContainer && isOfHandler && h.isSet() {
			of = &v.Refused
		}
		text := field + ": " + oneLine(cause.Message)
		if *of == "" {
			*of = text
		}
	}
}

// reason returns the refusal without its values: the field and the type of the error.
func (v *verdict) reason() string {
	field, message, isRefused := strings.Cut(v.Refused, ": ")
	if !isRefused || field == "decode" {
		return field
	}
	message, _, _ = strings.Cut(message, ":")
	return field + ": " + message
}

func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

func strategyOf(object runtime.Object) (rest.RESTCreateStrategy, error) {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	switch kinds[0].Kind {
	case "Pod":
		return pod.Strategy, nil
	case "Deployment":
		return deployment.Strategy, nil
	default:
		return nil, fmt.Errorf("unexpected object %s", kinds[0])
	}
}

func requestContext(h *handler) context.Context {
	group := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	if h.Kind == "Deployment" {
		group = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	}
	context := genericapirequest.WithNamespace(genericapirequest.NewContext(), "shop")
	return genericapirequest.WithRequestInfo(context, &genericapirequest.RequestInfo{
		IsResourceRequest: true,
		Verb:              "create",
		APIGroup:          group.Group,
		APIVersion:        group.Version,
		Resource:          group.Resource,
		Namespace:         "shop",
		Name:              h.name,
	})
}
