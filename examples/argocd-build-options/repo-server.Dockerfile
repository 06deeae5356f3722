# The repo-server with the function on its PATH.
ARG ARGOCD_IMAGE
ARG MESHPROBE_IMAGE=meshprobe:v0.1.0
FROM ${MESHPROBE_IMAGE} AS meshprobe
FROM ${ARGOCD_IMAGE}
COPY --from=meshprobe /usr/local/bin/meshprobe /usr/local/bin/meshprobe-krm
