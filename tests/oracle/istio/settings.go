package main

import (
	"errors"
	"fmt"
	"strings"

	"istio.io/istio/operator/pkg/render"
	"istio.io/istio/pkg/kube/inject"
)

// settings are the contents of the ConfigMaps from which istiod reads its configuration.
type settings struct {
	config *inject.Config
	values string
	mesh   string
}

// renderSettings renders the charts of the checkout with the default values of `istioctl install`.
func renderSettings(manifests string) (*settings, error) {
	flags := []string{"installPackagePath=" + manifests}
	sets, _, err := render.GenerateManifest(nil, flags, false, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot render the charts: %w", err)
	}
	data := map[string]map[string]any{}
	for _, set := range sets {
		for _, manifest := range set.Manifests {
			if manifest.GetKind() == "ConfigMap" {
				values, _ := manifest.Object["data"].(map[string]any)
				data[manifest.GetName()] = values
			}
		}
	}
	text := func(name, key string) string {
		value, _ := data[name][key].(string)
		return value
	}
	config, err := inject.UnmarshalConfig([]byte(text("istio-sidecar-injector", "config")))
	if err != nil {
		return nil, err
	}
	found := &settings{&config, text("istio-sidecar-injector", "values"), text("istio", "mesh")}
	if len(config.RawTemplates) == 0 || found.values == "" || found.mesh == "" {
		return nil, errors.New("the rendered charts contain no injection template, values or mesh configuration")
	}
	return found, nil
}

// quoteProxyMetadata changes the templates as a release could that escapes the values of proxyMetadata.
//
// `printf "%q"` is what the function `quote` of Helm does.
func (s *settings) quoteProxyMetadata() error {
	const unquoted, quoted = `value: "{{ $value }}"`, `value: {{ printf "%q" $value }}`
	count := 0
	for name, template := range s.config.RawTemplates {
		count += strings.Count(template, unquoted)
		s.config.RawTemplates[name] = strings.ReplaceAll(template, unquoted, quoted)
	}
	if count == 0 {
		return fmt.Errorf("no injection template contains `%s`", unquoted)
	}
	templates, err := inject.ParseTemplates(s.config.RawTemplates)
	s.config.Templates = templates
	return err
}

// Get, Run and SetHandler implement inject.Watcher for settings that do not change.
func (s *settings) Get() (*inject.Config, string, error) { return s.config, s.values, nil }

func (s *settings) Run(<-chan struct{}) {}

func (s *settings) SetHandler(func(*inject.Config, string) error) {}
