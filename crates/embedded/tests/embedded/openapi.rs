//! OpenAPI over HTTP: hashes, caching, forms, and documents that follow the CRDs.

use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, client::Body};
use maar_embedded::{Cluster, Config, UserInfo};
use serde_json::{Value, json};

const SWAGGER: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

async fn cluster() -> (Cluster, Client) {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    let client = cluster.client();
    (cluster, client)
}

async fn get(client: &Client, path: &str, headers: &[(header::HeaderName, &str)]) -> Response<Vec<u8>> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let (parts, body) = client.send(request.body(Body::empty()).unwrap()).await.unwrap().into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes().to_vec())
}

async fn json(client: &Client, path: &str) -> Value {
    let response = get(client, path, &[]).await;
    assert_eq!(response.status(), 200, "{path}");
    serde_json::from_slice(response.body()).unwrap()
}

async fn place(client: &Client, group_version: &str) -> Option<String> {
    let index = json(client, "/openapi/v3").await;
    index["paths"][group_version]["serverRelativeURL"].as_str().map(ToOwned::to_owned)
}

fn widgets(description: &str) -> CustomResourceDefinition {
    let schema = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "description": description},
        }}},
    });
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    serde_json::from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version],
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_document_is_kept_by_its_hash() {
    let (_cluster, client) = cluster().await;
    let place = place(&client, "apis/apps/v1").await.unwrap();
    let response = get(&client, &place, &[]).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()[header::CACHE_CONTROL], "public, immutable");
    assert_eq!(response.headers()[header::EXPIRES], "Fri, 01 Jan 2027 00:00:00 GMT");
    let tag = response.headers()[header::ETAG].to_str().unwrap().to_owned();
    assert!(place.ends_with(tag.trim_matches('"')), "{place} {tag}");
    let document: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(
        document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );

    let known = get(&client, "/openapi/v3/apis/apps/v1", &[(header::IF_NONE_MATCH, &tag)]).await;
    assert_eq!((known.status().as_u16(), known.body().len()), (304, 0));
    let elsewhere = get(&client, "/openapi/v3/apis/apps/v1?hash=OLD", &[]).await;
    assert_eq!(elsewhere.status(), 301);
    assert_eq!(elsewhere.headers()[header::LOCATION], place.as_str());
    for path in ["/openapi/v3/apis/apps/v9", "/openapi/v3/nonsense", "/openapi/v1"] {
        assert_eq!(get(&client, path, &[]).await.status(), 404, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_old_document_comes_as_json_or_protobuf_and_nothing_else() {
    let (_cluster, client) = cluster().await;
    let swagger = json(&client, "/openapi/v2").await;
    assert_eq!(swagger["swagger"], "2.0");
    assert_eq!(swagger["definitions"]["io.k8s.api.core.v1.Pod"]["type"], "object");
    let protobuf = get(&client, "/openapi/v2", &[(header::ACCEPT, SWAGGER)]).await;
    // Clients ask with a name that none of them could parse in an answer.
    assert_eq!(protobuf.headers()[header::CONTENT_TYPE], SWAGGER.replace('@', "."));
    assert!(protobuf.body().starts_with(b"\x0a\x032.0"));
    let both = get(&client, "/openapi/v2", &[(header::ACCEPT, "application/json, */*")]).await;
    assert_eq!(both.headers()[header::CONTENT_TYPE], "application/json");
    let refused = get(&client, "/openapi/v2", &[(header::ACCEPT, "text/html")]).await;
    assert_eq!(refused.status(), 406);
    // Only JSON is offered of version three, and asking for something else is told so.
    let protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let refused = get(&client, "/openapi/v3/api/v1", &[(header::ACCEPT, protobuf)]).await;
    assert_eq!(refused.status(), 406);
}

#[tokio::test(start_paused = true)]
async fn documents_follow_the_definitions_of_custom_resources() {
    let (_cluster, client) = cluster().await;
    let apps = place(&client, "apis/apps/v1").await;
    assert_eq!(place(&client, "apis/example.com/v1").await, None);
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &widgets("How wide it is.")).await.unwrap();
    await_condition(crds.clone(), "widgets.example.com", is_crd_established()).await.unwrap();
    let first = place(&client, "apis/example.com/v1").await.unwrap();
    let size = |document: &Value| {
        let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
        widget["properties"]["spec"]["properties"]["size"]["description"].clone()
    };
    let document = json(&client, &first).await;
    assert_eq!(size(&document), "How wide it is.");
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(document["components"]["schemas"][meta]["type"], "object");
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let types: Vec<&String> = patch["requestBody"]["content"].as_object().unwrap().keys().collect();
    let without_strategic =
        ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    assert_eq!(types, without_strategic, "kubectl would send a strategic merge, which is refused");

    let mut changed = crds.get("widgets.example.com").await.unwrap();
    changed.spec = widgets("How heavy it is.").spec;
    crds.replace("widgets.example.com", &PostParams::default(), &changed).await.unwrap();
    let second = place(&client, "apis/example.com/v1").await.unwrap();
    assert_ne!(first, second);
    assert_eq!(size(&json(&client, &second).await), "How heavy it is.");
    let swagger = json(&client, "/openapi/v2").await;
    assert_eq!(swagger["definitions"]["com.example.v1.Widget"]["type"], "object");
    assert_eq!(place(&client, "apis/apps/v1").await, apps, "what did not change keeps its hash");

    crds.delete("widgets.example.com", &kube::api::DeleteParams::default()).await.unwrap();
    await_condition(crds, "widgets.example.com", |crd: Option<&CustomResourceDefinition>| crd.is_none())
        .await
        .unwrap();
    assert_eq!(place(&client, "apis/example.com/v1").await, None);
}

#[tokio::test(start_paused = true)]
async fn everybody_who_is_known_may_read() {
    let (cluster, _) = cluster().await;
    let nobody = UserInfo {
        username: "nobody".into(),
        groups: vec!["system:authenticated".into()],
        ..UserInfo::default()
    };
    let client = cluster.client_as(nobody);
    for path in ["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"] {
        assert_eq!(get(&client, path, &[]).await.status(), 200, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_to_delete_all_namespaces_at_once() {
    let (_cluster, client) = cluster().await;
    let resources = json(&client, "/api/v1").await["resources"].as_array().unwrap().clone();
    let verbs = |name: &str| resources.iter().find(|line| line["name"] == name).unwrap()["verbs"].clone();
    assert!(!verbs("namespaces").as_array().unwrap().contains(&json!("deletecollection")));
    assert!(verbs("pods").as_array().unwrap().contains(&json!("deletecollection")));
    let document = json(&client, &place(&client, "api/v1").await.unwrap()).await;
    assert!(document["paths"]["/api/v1/namespaces"]["delete"].is_null());
    assert!(document["paths"]["/api/v1/nodes"]["delete"].is_object());
}
