//! The document as a page: nothing on it runs, and nothing comes from elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

pub(super) fn page(document: &Value) -> String {
    let mut rows = String::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let query: Vec<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|one| one["in"] == "query")
                .filter_map(|one| one["name"].as_str())
                .collect();
            let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&amp;")) };
            let summary = operation["summary"].as_str().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = write!(
                rows,
                "<tr><td>{}</td><td><code>{path}{query}</code></td><td>{summary}</td></tr>",
                method.to_uppercase()
            );
        }
    }
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Maar API</title>\
         <style>body{{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}}\
         td{{padding:.3rem .6rem;border-top:1px solid #8884;vertical-align:top}}code{{font-size:.85em}}</style>\
         <h1>Maar API</h1><p>For programs: <a href=\"/api/v1/openapi.json\">openapi.json</a>. \
         Send an API key as <code>Authorization: Bearer maar_…</code>.</p><table>{rows}</table></html>"
    )
}
