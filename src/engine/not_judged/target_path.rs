//! Single values of Flux, which are merged in order with the other values of a release.

use serde_json::Value;

/// Returns values with `value` at a `targetPath`; `None` if the path or the value has syntax other than keys separated by
/// dots, and a scalar.
/// Source: fluxcd/pkg, `chartutil.ReplacePathValue`; helm 3, `pkg/strvals`, `typedVal`.
pub(super) fn values_at(path: &str, value: &str) -> Option<String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '/');
    let is_key = |key: &str| !key.is_empty() && key.chars().all(is_plain);
    if !path.split('.').all(is_key) {
        return None;
    }
    let mut quotes = ['\'', '"'].iter();
    let quoted = quotes.find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let leaf = match quoted {
        Some(text) => Value::from(text),
        None => typed(value)?,
    };
    let keys = path.rsplit('.');
    let nested = keys.fold(leaf, |inner, key| Value::from_iter([(key, inner)]));
    Some(nested.to_string())
}

/// Returns a value with the type that helm gives it; `None` if helm reads more than one scalar.
fn typed(value: &str) -> Option<Value> {
    if value.contains([',', '\\', '\n']) || value.starts_with('{') {
        return None;
    }
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    let number = || value.parse::<i64>().ok();
    Some(match value {
        _ if is("true") => Value::Bool(true),
        _ if is("false") => Value::Bool(false),
        _ if is("null") => Value::Null,
        _ if value.starts_with('0') && value != "0" => Value::from(value),
        _ => number().map_or_else(|| Value::from(value), Value::from),
    })
}
