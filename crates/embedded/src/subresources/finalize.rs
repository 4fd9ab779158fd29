//! The end of a namespace: only its finalizers change.

use axum::response::Response;
use maar_machinery::error::FieldError;
use serde_json::Value;

use crate::request::WriteOptions;
use crate::resource::Subresource;
use crate::server::{Call, Server};
use crate::status::ApiError;
use crate::verbs::{Changed, decode_body};

impl Server {
    pub(super) async fn on_finalize(
        self: &std::sync::Arc<Self>,
        call: &Call<'_>,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        let given = decode_body(body)?;
        let finalizers = given["spec"]["finalizers"].clone();
        let metadata = given["metadata"].clone();
        let change = |old: &Value| {
            let mut object = old.clone();
            check_finalizers(call, &finalizers)?;
            for field in ["labels", "annotations"] {
                if metadata[field].is_object() {
                    object["metadata"][field] = metadata[field].clone();
                }
            }
            if finalizers.is_array() {
                object["spec"]["finalizers"] = finalizers.clone();
            } else if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("finalizers");
            }
            object["metadata"]["resourceVersion"] = metadata["resourceVersion"].clone();
            Ok(Changed { object, warnings: Vec::new(), fields_settled: false })
        };
        let options = WriteOptions::parse(call.query)?;
        let finalize = Some(Subresource::Finalize);
        let written =
            self.modify(call.caller, &call.resource, &call.key(), finalize, &change, &options).await?;
        self.answer(call, written)
    }
}

/// Who holds a namespace has a qualified name, as who holds an object does.
fn check_finalizers(call: &Call<'_>, finalizers: &Value) -> Result<(), ApiError> {
    let names = finalizers.as_array().into_iter().flatten().filter_map(Value::as_str);
    let unqualified = names.enumerate().filter(|(_, name)| !name.contains('/') && *name != "kubernetes");
    let errors: Vec<FieldError> = unqualified
        .map(|(index, name)| {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(format!("spec.finalizers[{index}]"), name, detail)
        })
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(&call.resource, &call.target.name, &errors))
    }
}
