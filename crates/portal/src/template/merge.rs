//! What becomes of a request that begins from a template.

use maar_records::TemplateId;
use serde_json::Value;

use super::text::{TemplateKind, object_of};
use crate::{
    access::{Subject, Verb, may},
    error::ApiError,
    portal::Portal,
};

/// The body of a request of `subject`, filled up from the template that it names, if it names one. The guard does it
/// before it decides: who pays may stand in the template alone.
pub(crate) async fn filled(
    portal: &Portal,
    subject: &Subject,
    kind: TemplateKind,
    mut asked: Value,
) -> Result<Value, ApiError> {
    let named = asked.as_object_mut().and_then(|fields| fields.remove("template"));
    let Some(named) = named.filter(|named| !named.is_null()) else { return Ok(asked) };
    let id =
        named.as_str().ok_or_else(|| ApiError::invalid("template", "is the identifier of a template"))?;
    let missing = || ApiError::not_found("this template").at("template");
    let template = portal.records.template(&TemplateId::new(id)).await.map_err(|error| match error {
        maar_records::Error::NotFound { .. } => missing(),
        other => other.into(),
    })?;
    if !may(subject, Verb::See, &object_of(&template)) {
        return Err(missing());
    }
    if template.kind != kind.as_str() {
        return Err(ApiError::invalid("template", format!("makes a {}", template.kind)));
    }
    let mut whole = template.body;
    merge(&mut whole, asked);
    Ok(whole)
}

/// `asked` over `whole`: fields of objects one by one, everything else as it is.
fn merge(whole: &mut Value, asked: Value) {
    match (whole, asked) {
        (Value::Object(whole), Value::Object(asked)) => {
            for (name, value) in asked {
                match whole.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => drop(whole.insert(name, value)),
                }
            }
        }
        (whole, asked) => *whole = asked,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_wins() {
        let mut whole =
            json!({ "image": "a", "env": { "A": "1", "B": "2" }, "args": ["x", "y"], "cpu": "1" });
        merge(&mut whole, json!({ "name": "n", "env": { "B": "3" }, "args": ["z"], "cpu": null }));
        assert_eq!(
            whole,
            json!({ "name": "n", "image": "a", "env": { "A": "1", "B": "3" }, "args": ["z"], "cpu": null })
        );
    }
}
