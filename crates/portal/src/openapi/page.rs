//! The document as a page: nothing on it runs, and nothing comes from elsewhere.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Map, Value, json};

const STYLE: &str = "body{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}\
table{border-collapse:collapse;margin:.3rem 0 .8rem}td,th{padding:.2rem .8rem .2rem 0;border-top:1px solid #8884;\
vertical-align:top;text-align:left}code,pre{font-size:.85em}pre{overflow-x:auto;padding:.6rem;background:#8882}\
details{border-top:1px solid #8884;padding:.3rem 0}summary{cursor:pointer}nav a{margin-right:1rem}\
details>:not(summary){margin-left:1.2rem}";

/// The page, by what routes are about; every shape that is sent or answered is described once, below.
pub(super) fn page(document: &Value) -> String {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    for (path, methods) in fields(&document["paths"]) {
        for (method, operation) in fields(methods) {
            let part = parts.entry(operation["tags"][0].as_str().unwrap_or_default()).or_default();
            part.push_str(&route(path, method, operation, document));
        }
    }
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Maar API</title><style>{STYLE}</style><h1>Maar API</h1>\
         <p>For programs: <a href=\"/api/v1/openapi.json\">openapi.json</a>. Send an API key as \
         <code>Authorization: Bearer maar_…</code>; keys are made in the settings of the portal. In the examples \
         <code>$MAAR</code> is where the portal is found and <code>$KEY</code> the key. Lists come in pages: \
         <code>next</code> of one page is <code>cursor</code> of the next. Whatever is not done is answered by \
         <a href=\"#shape-ErrorBody\">ErrorBody</a>.</p><nav>"
    );
    for tag in parts.keys() {
        write(&mut text, format_args!("<a href=\"#{tag}\">{tag}</a>"));
    }
    text.push_str("<a href=\"#shapes\">shapes</a></nav>");
    for (tag, routes) in &parts {
        write(&mut text, format_args!("<h2 id=\"{tag}\">{tag}</h2>{routes}"));
    }
    text.push_str("<h2 id=\"shapes\">shapes</h2>");
    for (name, schema) in fields(&document["components"]["schemas"]) {
        write(&mut text, format_args!("<h3 id=\"shape-{0}\">{0}</h3>{1}", escape(name), shape(schema)));
    }
    text.push_str("</html>");
    text
}

/// Writing to a String cannot fail.
fn write(text: &mut String, more: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(more);
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn said(value: &Value) -> String {
    escape(value["description"].as_str().unwrap_or_default())
}

fn route(path: &str, method: &str, operation: &Value, document: &Value) -> String {
    let summary = escape(operation["summary"].as_str().unwrap_or_default());
    let mut text = format!(
        "<details><summary><b>{}</b> <code>{}</code> {summary}</summary>",
        method.to_uppercase(),
        escape(path)
    );
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
    if !parameters.is_empty() {
        text.push_str("<table><tr><th>parameter<th>in<th>type<th>");
        for one in parameters {
            let (name, place) =
                (one["name"].as_str().unwrap_or_default(), one["in"].as_str().unwrap_or_default());
            let row = format_args!(
                "<tr><td><code>{}</code><td>{place}<td>{}<td>{}",
                escape(name),
                kind(&one["schema"]),
                said(one)
            );
            write(&mut text, row);
        }
        text.push_str("</table>");
    }
    for (media, content) in fields(&operation["requestBody"]["content"]) {
        write(&mut text, format_args!("<p>Body, {}: {}</p>", escape(media), kind(&content["schema"])));
    }
    for (status, answer) in fields(&operation["responses"]).filter(|(status, _)| *status != "default") {
        let contents: Vec<String> = fields(&answer["content"])
            .map(|(media, content)| format!("{}: {}", escape(media), kind(&content["schema"])))
            .collect();
        let contents = if contents.is_empty() { "nothing".to_owned() } else { contents.join(", ") };
        write(&mut text, format_args!("<p>Answer {status}, {contents}</p>"));
    }
    write(
        &mut text,
        format_args!("<pre>{}</pre></details>", escape(&example(path, method, operation, document))),
    );
    text
}

/// How to try it.
fn example(path: &str, method: &str, operation: &Value, document: &Value) -> String {
    let mut text = "curl".to_owned();
    if method != "get" {
        write(&mut text, format_args!(" -X {}", method.to_uppercase()));
    }
    if !operation["security"].as_array().is_none_or(Vec::is_empty) {
        text.push_str(" -H \"Authorization: Bearer $KEY\"");
    }
    if let Some(content) = operation["requestBody"]["content"].get("application/json") {
        let body = sample(&content["schema"], document, 0);
        write(&mut text, format_args!(" -H 'Content-Type: application/json' -d '{body}'"));
    }
    write(&mut text, format_args!(" \"$MAAR{path}\""));
    text
}

/// The schema that a reference leads to.
fn whole<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let place = schema["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    place.and_then(|place| document.pointer(place)).unwrap_or(schema)
}

/// What has to be said at least, with nothing in it.
fn sample(schema: &Value, document: &Value, depth: usize) -> Value {
    let schema = whole(schema, document);
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") if depth < 4 => {
            let wanted = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let field =
                |name: &str| (name.to_owned(), sample(&schema["properties"][name], document, depth + 1));
            Value::Object(wanted.map(field).collect::<Map<_, _>>())
        }
        Some("object") => json!({}),
        _ => json!("…"),
    }
}

/// The type of a value, in words; shapes lead to where they are described.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next()) {
        return format!("<a href=\"#shape-{0}\">{0}</a>", escape(name));
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        if let Some(all) = schema[several].as_array() {
            let all: Vec<String> = all.iter().filter(|one| one["type"] != "null").map(kind).collect();
            return all.join(" or ");
        }
    }
    if let Some(all) = schema["enum"].as_array() {
        let words: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
        return escape(&words.join(" | "));
    }
    if let Some(word) = schema["const"].as_str() {
        return escape(word);
    }
    let types = schema["type"].as_array().map_or_else(|| vec![&schema["type"]], |all| all.iter().collect());
    let word = types.into_iter().filter_map(Value::as_str).find(|word| *word != "null").unwrap_or("anything");
    match word {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        word => word.to_owned(),
    }
}

/// The fields of a shape; what is not always there is marked.
fn shape(schema: &Value) -> String {
    let mut text = format!("<p>{}</p>", said(schema));
    if !schema["properties"].is_object() {
        write(&mut text, format_args!("<p>{}</p>", kind(schema)));
        return text;
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    text.push_str("<table><tr><th>field<th>type<th>");
    for (name, field) in fields(&schema["properties"]) {
        let may = if required.contains(&name.as_str()) { "" } else { "?" };
        let row =
            format_args!("<tr><td><code>{}{may}</code><td>{}<td>{}", escape(name), kind(field), said(field));
        write(&mut text, row);
    }
    text.push_str("</table>");
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi::openapi;

    #[test]
    fn a_route_is_shown_with_what_it_takes_and_answers_and_how_to_try_it() {
        let text = page(&openapi());
        let begin = text.find("<code>/api/v1/users/{id}/limits</code> Set the most").unwrap();
        let part = &text[begin..begin + text[begin..].find("</details>").unwrap()];
        assert!(part.contains("<td><code>id</code><td>path<td>string"), "{part}");
        assert!(
            part.contains("<a href=\"#shape-LimitsRequest\">") && part.contains("#shape-LimitsView"),
            "{part}"
        );
        let example = "curl -X PUT -H &quot;Authorization: Bearer $KEY&quot; -H 'Content-Type: application/json' \
                       -d '{&quot;limits&quot;:{}}' &quot;$MAAR/api/v1/users/{id}/limits&quot;";
        assert!(part.contains(example), "{part}");
        let list = &text[text.find("<code>/api/v1/audit</code>").unwrap()..];
        assert!(
            list.contains("<code>actor</code><td>query<td>string<td>Who, by name."),
            "the description of a field"
        );
    }

    #[test]
    fn every_link_leads_somewhere_and_nothing_runs_or_comes_from_elsewhere() {
        let text = page(&openapi());
        let places = |mark: &str| -> BTreeSet<String> {
            text.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let missing: Vec<String> = places("href=\"#").difference(&places(" id=\"")).cloned().collect();
        assert_eq!(missing, Vec::<String>::new());
        for word in ["<script", " src=", "href=\"http", "@import", "url("] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
