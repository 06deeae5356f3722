//! Handlers with a `host` that a rewrite leaves as written: the webhook does not change them in the rewritten pod, and
//! the rest of the pod is the same as without them.

use serde_json::Value;

use super::webhook::defaults::each_mut;
use super::webhook::{Admitted, Mesh, Workload, admit};

/// Returns the original and the rewritten pod without the handlers that the rewrite has left as written.
///
/// # Errors
/// A message if the webhook changes such a handler of the rewritten pod.
pub(super) fn without_kept(
    before: &Workload,
    after: &Workload,
    mesh: Mesh,
) -> Result<(Workload, Workload), String> {
    let (mut before, mut after) = (before.clone(), after.clone());
    if before == after {
        return Ok((before, after));
    }
    let mut admitted = admit(&after, mesh);
    for list in ["initContainers", "containers"] {
        for written in containers(&mut before.template, list) {
            for rewritten in containers(&mut after.template, list) {
                if rewritten.get("name") == written.get("name") {
                    remove(written, rewritten, list, &mut admitted)?;
                }
            }
        }
    }
    Ok((before, after))
}

fn containers<'v>(pod: &'v mut Value, list: &str) -> impl Iterator<Item = &'v mut Value> {
    let list = pod.pointer_mut(&format!("/spec/{list}"));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Removes the kept handlers of a container.
fn remove(
    written: &mut Value,
    rewritten: &mut Value,
    list: &str,
    admitted: &mut Admitted,
) -> Result<(), String> {
    let name = written.get("name").cloned();
    let mut admitted: Vec<String> = match admitted {
        Admitted::Injected(pod) => containers(pod, list)
            .filter(|container| container.get("name") == name.as_ref())
            .flat_map(each_mut)
            .map(|(handler, _)| target(handler))
            .collect(),
        Admitted::Error | Admitted::Skipped => return Ok(()),
    };
    for ((old, _), (new, _)) in each_mut(written).into_iter().zip(each_mut(rewritten)) {
        let has_host = ["/httpGet/host", "/tcpSocket/host"].iter().any(|host| {
            new.pointer(host)
                .and_then(Value::as_str)
                .is_some_and(|host| !host.is_empty())
        });
        if old != new || !has_host {
            continue;
        }
        let kept = target(new);
        let Some(position) = admitted.iter().position(|target| *target == kept) else {
            return Err(format!("the webhook changes {new}"));
        };
        admitted.remove(position);
        for handler in [old, new] {
            let map = handler
                .as_object_mut()
                .ok_or("a handler is not a mapping")?;
            map.retain(|key, _| key != "httpGet" && key != "tcpSocket");
        }
    }
    Ok(())
}

/// Returns the host and the port of a handler.
fn target(handler: &Value) -> String {
    let of = |field: &str| {
        let found = ["httpGet", "tcpSocket"]
            .iter()
            .find_map(|kind| handler.get(kind)?.get(field));
        found.cloned().unwrap_or_default()
    };
    format!("{}:{}", of("host"), of("port"))
}
