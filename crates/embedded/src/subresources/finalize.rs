//! The end of a namespace: only its finalizers change.

use axum::response::Response;
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
        let version = given["metadata"]["resourceVersion"].clone();
        let change = |old: &Value| {
            let mut object = old.clone();
            if finalizers.is_array() {
                object["spec"]["finalizers"] = finalizers.clone();
            } else if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("finalizers");
            }
            object["metadata"]["resourceVersion"] = version.clone();
            Ok(Changed { object, warnings: Vec::new(), fields_settled: false })
        };
        let options = WriteOptions::parse(call.query)?;
        let finalize = Some(Subresource::Finalize);
        let written =
            self.modify(call.caller, &call.resource, &call.key(), finalize, &change, &options).await?;
        self.answer(call, written)
    }
}
