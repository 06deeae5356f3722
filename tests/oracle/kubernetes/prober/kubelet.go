package main

import (
	"context"
	_ "unsafe" // go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	_ "k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
)

// The kubelet exports its prober only as a part of a manager that repeats the probes of running pods. These names refer
// to the functions of Kubernetes 1.37 that run one probe; their signatures must be those of the version in go.mod.

// prober is the unexported type of the same name, which is only used by reference.
type prober struct{ _ [0]byte }

// readiness is the constant of the same name, of the unexported type probeType.
const readiness = 1

var containerID kubecontainer.ContainerID

//go:linkname newProber k8s.io/kubernetes/pkg/kubelet/prober.newProber
func newProber(runner kubecontainer.CommandRunner, recorder record.EventRecorderLogger) *prober

//go:linkname probe k8s.io/kubernetes/pkg/kubelet/prober.(*prober).probe
func probe(p *prober, ctx context.Context, kind int, pod *v1.Pod, status v1.PodStatus, container v1.Container, id kubecontainer.ContainerID) (results.Result, error)
