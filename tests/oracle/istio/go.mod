// The script `../istio.sh` copies this folder and sets the requirements: those of the Istio checkout that is tested.
module meshprobe.dev/oracle/istio

go 1.24

require istio.io/istio v0.0.0
