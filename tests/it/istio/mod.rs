//! Compares meshprobe with Istio's own code and releases.

mod kept;
mod matrix;
mod paths;
mod predict_goldens;
mod predict_live;
mod proxy_config_decoder;
mod rewrite_goldens;
mod rewrite_scenarios;
mod vectors;
mod webhook;
mod webhook_model;
