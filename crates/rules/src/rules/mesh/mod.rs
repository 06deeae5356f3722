//! The rules about meshes other than Istio.

super::groups! { app_mesh, cilium, consul, kuma, linkerd, osm, several }
