//! Meshes other than Istio.

mod ambient;
mod assumptions;
mod detection;
mod docs;
mod kuma_consul_goldens;
mod linkerd;
mod linkerd_app_mesh;
mod osm_goldens;
mod previews;
mod second_pass;
