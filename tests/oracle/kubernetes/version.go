package main

import "runtime/debug"

// kubernetesVersion returns the version of the module k8s.io/kubernetes.
func kubernetesVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	return "unknown"
}
