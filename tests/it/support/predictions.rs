//! Reads the JSON report of `predict`.

use serde_json::Value;

use super::Run;

/// Returns the workloads of the report.
pub(crate) fn workloads(run: &Run) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", run.stdout, run.stderr));
    report.get("workloads").unwrap().as_array().unwrap().clone()
}

/// Returns the handlers of all workloads of the report.
pub(crate) fn handlers(run: &Run) -> Vec<Value> {
    let handlers = |workload: &Value| workload["handlers"].as_array().unwrap().clone();
    workloads(run).iter().flat_map(handlers).collect()
}

/// Returns the outcomes of all handlers of the report.
pub(crate) fn outcomes(run: &Run) -> Vec<String> {
    let outcome = |handler: &Value| handler["outcome"].as_str().unwrap().to_owned();
    handlers(run).iter().map(outcome).collect()
}

/// Returns the texts at these JSON pointers, separated by spaces; `-` for a missing value.
pub(crate) fn texts(value: &Value, pointers: &[&str]) -> String {
    let text = |pointer: &&str| {
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("-")
    };
    pointers.iter().map(text).collect::<Vec<_>>().join(" ")
}
