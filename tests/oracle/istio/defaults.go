package main

import (
	"strings"

	core "k8s.io/api/core/v1"
)

// setDefaults sets the defaults of the API server that the injector and the kubelet read.
func setDefaults(pod *core.Pod) {
	spec := &pod.Spec
	setDefault(&spec.RestartPolicy, core.RestartPolicyAlways)
	setDefault(&spec.DNSPolicy, core.DNSClusterFirst)
	setDefault(&spec.SchedulerName, core.DefaultSchedulerName)
	setPointer(&spec.TerminationGracePeriodSeconds, core.DefaultTerminationGracePeriodSeconds)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &core.PodSecurityContext{}
	}
	for _, containers := range [][]core.Container{spec.InitContainers, spec.Containers} {
		for index := range containers {
			setContainerDefaults(&containers[index])
		}
	}
}

func setContainerDefaults(container *core.Container) {
	setDefault(&container.TerminationMessagePath, core.TerminationMessagePathDefault)
	setDefault(&container.TerminationMessagePolicy, core.TerminationMessageReadFile)
	setDefault(&container.ImagePullPolicy, pullPolicy(container.Image))
	for index := range container.Ports {
		setDefault(&container.Ports[index].Protocol, core.ProtocolTCP)
	}
	for _, probe := range []*core.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if probe != nil {
			setDefault(&probe.TimeoutSeconds, 1)
			setDefault(&probe.PeriodSeconds, 10)
			setDefault(&probe.SuccessThreshold, 1)
			setDefault(&probe.FailureThreshold, 3)
			setHandlerDefaults(probe.HTTPGet)
			if probe.GRPC != nil {
				setPointer(&probe.GRPC.Service, "")
			}
		}
	}
	if container.Lifecycle != nil {
		for _, hook := range []*core.LifecycleHandler{container.Lifecycle.PostStart, container.Lifecycle.PreStop} {
			if hook != nil {
				setHandlerDefaults(hook.HTTPGet)
			}
		}
	}
}

func setHandlerDefaults(handler *core.HTTPGetAction) {
	if handler != nil {
		setDefault(&handler.Path, "/")
		setDefault(&handler.Scheme, core.URISchemeHTTP)
	}
}

// pullPolicy returns Always for an image without a tag or digest, and for the tag latest.
func pullPolicy(image string) core.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if !strings.ContainsAny(name, ":@") || strings.HasSuffix(name, ":latest") {
		return core.PullAlways
	}
	return core.PullIfNotPresent
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
