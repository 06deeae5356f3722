# The image of the sidecar: that of Argo CD, which has bash and kustomize, and meshprobe.
ARG ARGOCD_IMAGE
ARG MESHPROBE_IMAGE=meshprobe:v0.1.0
FROM ${MESHPROBE_IMAGE} AS meshprobe
FROM ${ARGOCD_IMAGE}
COPY --from=meshprobe /usr/local/bin/meshprobe /usr/local/bin/meshprobe
COPY plugin.yaml /home/argocd/cmp-server/config/plugin.yaml
