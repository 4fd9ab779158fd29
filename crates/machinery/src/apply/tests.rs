#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better without borrows")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fields::sample;

fn request(manager: &str) -> Request<'_> {
    at(manager, 1)
}

/// A request in the core group at a second after the epoch.
pub(super) fn at(manager: &str, second: i64) -> Request<'_> {
    let now = Timestamp::from_second(second).unwrap();
    Request { manager, subresource: "", api_version: "v1", now, ignored: None }
}

fn config(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec})
}

/// A live object that managers apply and update one after the other.
pub(super) struct Cluster {
    ty: Type,
    live: Option<Value>,
    clock: i64,
}

impl Cluster {
    pub(super) fn new(ty: Type) -> Self {
        Self { ty, live: None, clock: 0 }
    }

    pub(super) fn try_apply(
        &mut self,
        manager: &str,
        applied: &Value,
        force: bool,
    ) -> Result<&Value, ApplyError> {
        self.clock += 1;
        let result = apply(self.live.as_ref(), applied, &self.ty, &at(manager, self.clock), force)?;
        Ok(self.live.insert(result))
    }

    pub(super) fn apply(&mut self, manager: &str, applied: Value) -> &Value {
        self.try_apply(manager, &applied, false).unwrap()
    }

    pub(super) fn update(&mut self, manager: &str, mut new: Value) -> &Value {
        self.clock += 1;
        update(self.live.as_ref(), &mut new, &self.ty, &at(manager, self.clock));
        self.live.insert(new)
    }

    pub(super) fn live(&self) -> &Value {
        self.live.as_ref().unwrap()
    }

    /// What each manager owns, as `name/operation: paths`.
    pub(super) fn owners(&self) -> Vec<String> {
        let list = &self.live()["metadata"]["managedFields"];
        let managed =
            if list.is_null() { ManagedFields::default() } else { ManagedFields::decode(list).unwrap() };
        let mut owners: Vec<String> = managed
            .entries()
            .iter()
            .map(|entry| {
                format!("{}/{}: {}", entry.name(), entry.operation().as_str(), entry.fields.paths().join(" "))
            })
            .collect();
        owners.sort();
        owners
    }
}

#[test]
fn applying_creates_and_owns_what_was_applied_but_not_the_name() {
    let mut cluster = Cluster::new(sample::config_map());
    let live = cluster.apply("a", config(json!({"x": "1"})));
    assert_eq!(
        live["metadata"]["managedFields"],
        json!([{
            "manager": "a",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "1970-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:x": {}}},
        }])
    );
}

#[test]
fn what_is_no_longer_applied_goes_away_unless_somebody_else_owns_it() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.apply("a", config(json!({"x": "1", "y": "1", "z": "1"})));
    cluster.apply("b", config(json!({"y": "1"})));
    let live = cluster.apply("a", config(json!({"x": "1"})));
    assert_eq!(live["data"], json!({"x": "1", "y": "1"}));
    assert_eq!(cluster.owners(), ["a/Apply: .data.x", "b/Apply: .data.y"]);
}

#[test]
fn a_struct_that_nobody_applies_any_more_goes_away_whole() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.apply("a", config(json!({"x": "1"})));
    let live =
        cluster.apply("a", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}));
    assert_eq!(live.get("data"), None);
    assert_eq!(live["metadata"].get("managedFields"), None);
}

#[test]
fn a_field_of_somebody_else_is_a_conflict_and_force_takes_it() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.apply("a", config(json!({"x": "1"})));
    let fault = cluster.try_apply("b", &config(json!({"x": "2"})), false).unwrap_err();
    assert_eq!(fault.code(), 409);
    assert_eq!(fault.to_string(), "Apply failed with 1 conflict: conflict with \"a\": .data.x");
    let [conflict] = fault.conflicts() else { panic!("one conflict") };
    assert_eq!((conflict.message().as_str(), conflict.field().as_str()), ("conflict with \"a\"", ".data.x"));
    cluster.try_apply("b", &config(json!({"x": "2"})), true).unwrap();
    assert_eq!(cluster.owners(), ["b/Apply: .data.x"]);
}

#[test]
fn conflicts_with_updates_name_the_version_and_several_are_listed_by_owner() {
    let mut cluster = Cluster::new(sample::deployment());
    let deployment = |replicas: u32, paused: bool| {
        let spec = json!({"replicas": replicas, "paused": paused});
        json!({"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    };
    cluster.update("x", deployment(1, false));
    let mut scaled = cluster.live().clone();
    scaled["spec"]["replicas"] = json!(2);
    cluster.update("y", scaled);
    let fault = cluster.try_apply("z", &deployment(3, true), false).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "Apply failed with 2 conflicts: conflicts with \"x\" using v1:\n- .spec.paused\n\
         conflicts with \"y\" using v1:\n- .spec.replicas"
    );
}

#[test]
fn the_same_value_is_owned_together() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.apply("a", config(json!({"x": "1"})));
    cluster.apply("b", config(json!({"x": "1"})));
    assert_eq!(cluster.owners(), ["a/Apply: .data.x", "b/Apply: .data.x"]);
}

#[test]
fn containers_merge_by_name_and_ports_by_number_and_protocol() {
    let mut cluster = Cluster::new(sample::pod());
    let container = |ports: Value| json!({"containers": [{"name": "c", "ports": ports}]});
    cluster.apply("a", pod(container(json!([{"containerPort": 53}]))));
    cluster.apply("b", pod(container(json!([{"containerPort": 53, "protocol": "UDP"}]))));
    let live =
        cluster.apply("c", pod(container(json!([{"containerPort": 53, "protocol": "TCP", "name": "dns"}]))));
    assert_eq!(
        live["spec"]["containers"],
        json!([{"name": "c", "ports": [
            {"containerPort": 53, "protocol": "TCP", "name": "dns"},
            {"containerPort": 53, "protocol": "UDP"},
        ]}])
    );
}

#[test]
fn tolerations_are_one_value_and_finalizers_a_set() {
    let mut cluster = Cluster::new(sample::pod());
    let mut first = pod(json!({"tolerations": [{"key": "a"}]}));
    first["metadata"]["finalizers"] = json!(["one"]);
    cluster.apply("a", first);
    let mut second = pod(json!({}));
    second["metadata"]["finalizers"] = json!(["two"]);
    let live = cluster.apply("b", second);
    assert_eq!(live["metadata"]["finalizers"], json!(["one", "two"]));
    let fault = cluster.try_apply("b", &pod(json!({"tolerations": [{"key": "b"}]})), false).unwrap_err();
    assert!(fault.to_string().ends_with("\"a\": .spec.tolerations"), "{fault}");
}

#[test]
fn applied_items_come_in_their_order_and_others_stay_between_them() {
    let mut cluster = Cluster::new(sample::pod());
    let names = |names: &[&str]| -> Value {
        let items: Value = names.iter().map(|name| json!({"name": name})).collect();
        pod(json!({"initContainers": items}))
    };
    cluster.apply("a", names(&["a", "b", "c"]));
    let live = cluster.apply("b", names(&["c", "x", "a"]));
    let order: Vec<_> =
        live["spec"]["initContainers"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(order, ["b", "c", "x", "a"]);
}

#[test]
fn owners_are_told_apart_by_uid_and_conditions_by_type() {
    let mut cluster = Cluster::new(sample::pod());
    let with = |uid: &str, condition: &str| {
        let mut object = pod(json!({}));
        object["metadata"]["ownerReferences"] = json!([{"uid": uid, "name": "x"}]);
        object["status"] = json!({"conditions": [{"type": condition, "status": "True"}]});
        object
    };
    cluster.apply("a", with("1", "Ready"));
    let live = cluster.apply("b", with("2", "Other"));
    assert_eq!(
        live["metadata"]["ownerReferences"],
        json!([{"uid": "1", "name": "x"}, {"uid": "2", "name": "x"}])
    );
    assert_eq!(live["status"]["conditions"].as_array().unwrap().len(), 2);
}

#[test]
fn an_item_goes_with_its_last_owner_even_if_the_server_filled_it_in() {
    let mut cluster = Cluster::new(sample::pod());
    let list = |items: Value| pod(json!({"containers": items}));
    cluster.apply("a", list(json!([{"name": "x"}, {"name": "y"}])));
    // The server defaults a field of an item without anybody owning it.
    let mut defaulted = cluster.live().clone();
    defaulted["spec"]["containers"][1]["imagePullPolicy"] = json!("Always");
    cluster.live = Some(defaulted);
    let live = cluster.apply("a", list(json!([{"name": "x"}])));
    assert_eq!(live["spec"]["containers"], json!([{"name": "x"}]));
}

#[test]
fn what_pruning_empties_keeps_its_other_owner() {
    let mut cluster = Cluster::new(sample::config_map());
    let labelled = |labels: Value| {
        let mut object = config(json!({}));
        object["metadata"]["labels"] = labels;
        object
    };
    cluster.apply("a", labelled(json!({"x": "1"})));
    cluster.apply("b", labelled(json!({})));
    let live = cluster.apply("a", config(json!({})));
    assert_eq!(live["metadata"].get("labels"), None);
    assert_eq!(cluster.owners(), ["a/Apply: .data", "b/Apply: .data .metadata.labels"]);
}

#[test]
fn null_clears_nothing_that_has_something_in_it() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.apply("a", config(json!({"x": "1"})));
    let live = cluster.apply("b", config(Value::Null));
    assert_eq!(live["data"], json!({"x": "1"}));
}

#[test]
fn configurations_that_do_not_fit_are_refused() {
    let ty = sample::pod();
    let refuse = |applied: Value| apply(None, &applied, &ty, &request("a"), false).unwrap_err();
    let mut with_managed = pod(json!({}));
    with_managed["metadata"]["managedFields"] = json!([]);
    assert_eq!(refuse(with_managed), ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    assert_eq!(refuse(json!({"apiVersion": "v2", "kind": "Pod"})).code(), 400);
    assert_eq!(
        refuse(pod(json!({"bogus": 1}))).to_string(),
        "failed to create typed patch object (n/p; /v1, Kind=Pod): .spec.bogus: field not declared in schema"
    );
    let doubles = refuse(pod(json!({"containers": [{"name": "a"}, {"name": "a"}]})));
    assert!(
        doubles.to_string().ends_with(".spec.containers: duplicate entries for key [name=\"a\"]"),
        "{doubles}"
    );
    assert_eq!(refuse(pod(json!([]))).code(), 500);
}

#[test]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let mut cluster = Cluster::new(sample::config_map());
    cluster.live = Some(config(json!({"x": "1", "y": "1"})));
    cluster.apply("a", config(json!({"x": "1"})));
    assert_eq!(cluster.owners(), ["a/Apply: .data.x", "before-first-apply/Update: .data .data.x .data.y"]);
}

#[test]
fn fields_that_an_endpoint_resets_are_not_owned_through_it() {
    let ignored = Set::of_fields(&[&["status"]]);
    let request = Request { ignored: Some(&ignored), ..request("a") };
    let mut object = pod(json!({"nodeName": "n"}));
    object["status"] = json!({"phase": "Running"});
    let live = apply(None, &object, &sample::pod(), &request, false).unwrap();
    assert_eq!(live["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:spec": {"f:nodeName": {}}}));
}

#[test]
fn kubectl_takes_over_what_it_had_applied_on_the_client_and_keeps_the_annotation() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut cluster = Cluster::new(sample::config_map());
    let mut object = config(json!({"x": "1"}));
    object["metadata"]["annotations"] = json!({annotation: config(json!({"x": "1"})).to_string()});
    cluster.update("kubectl-client-side-apply", object);
    assert!(cluster.try_apply("somebody", &config(json!({"x": "2"})), false).is_err());
    let live = cluster.apply("kubectl", config(json!({"x": "2"})));
    assert_eq!(live["data"], json!({"x": "2"}));
    let last = live["metadata"]["annotations"][annotation].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap(), config(json!({"x": "2"})));
}

fn any_config() -> impl Strategy<Value = Value> {
    let data = prop::collection::btree_map("[abc]", "[12]", 0..4);
    let labels = prop::option::of(prop::collection::btree_map("[ab]", "[12]", 0..3));
    let finalizers = prop::sample::subsequence(vec!["x", "y", "z"], 0..=3).prop_shuffle();
    (data, labels, finalizers).prop_map(|(data, labels, finalizers)| {
        let mut object = config(json!(data));
        object["metadata"]["finalizers"] = json!(finalizers);
        if let Some(labels) = labels {
            object["metadata"]["labels"] = json!(labels);
        }
        object
    })
}

fn any_pod() -> impl Strategy<Value = Value> {
    let variables = prop::collection::btree_map("[AB]", "[xy]", 0..3).prop_shuffle_items("name", "value");
    let container = ("[12]", variables).prop_map(|(image, env)| json!({"image": image, "env": env}));
    let containers = prop::collection::btree_map("[abcd]", container, 0..4).prop_flat_map(|all| {
        let named: Vec<Value> = all
            .into_iter()
            .map(|(name, mut container)| {
                container["name"] = name.into();
                container
            })
            .collect();
        Just(named).prop_shuffle()
    });
    (containers, prop::option::of("[pq]")).prop_map(|(containers, node)| {
        let mut object = pod(json!({"containers": containers}));
        if let Some(node) = node {
            object["spec"]["nodeName"] = node.into();
        }
        object
    })
}

trait ShuffledItems: Sized {
    fn prop_shuffle_items(self, key: &'static str, value: &'static str) -> BoxedStrategy<Value>;
}

impl<S: Strategy<Value = std::collections::BTreeMap<String, String>> + 'static> ShuffledItems for S {
    fn prop_shuffle_items(self, key: &'static str, value: &'static str) -> BoxedStrategy<Value> {
        self.prop_flat_map(move |all| {
            let items: Vec<Value> = all.into_iter().map(|(k, v)| json!({key: k, value: v})).collect();
            Just(items).prop_shuffle().prop_map(Value::from)
        })
        .boxed()
    }
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(first in any_pod(), second in any_pod(), own in any_pod()) {
        let mut cluster = Cluster::new(sample::pod());
        cluster.update("u", first);
        cluster.try_apply("b", &second, true).unwrap();
        let once = cluster.try_apply("a", &own, true).unwrap().clone();
        prop_assert_eq!(cluster.try_apply("a", &own, false).unwrap(), &once);
    }

    #[test]
    fn what_was_applied_is_there_afterwards(before in any_config(), own in any_config()) {
        let mut cluster = Cluster::new(sample::config_map());
        cluster.try_apply("b", &before, true).unwrap();
        let live = cluster.try_apply("a", &own, true).unwrap().clone();
        for (key, value) in own["data"].as_object().unwrap() {
            prop_assert_eq!(&live["data"][key], value);
        }
        for item in own["metadata"]["finalizers"].as_array().unwrap() {
            prop_assert!(live["metadata"]["finalizers"].as_array().unwrap().contains(item));
        }
    }

    #[test]
    fn without_force_nothing_of_others_changes(theirs in any_config(), own in any_config()) {
        let mut cluster = Cluster::new(sample::config_map());
        cluster.apply("b", theirs.clone());
        if let Ok(live) = cluster.try_apply("a", &own, false) {
            for (key, value) in theirs["data"].as_object().unwrap() {
                prop_assert_eq!(&live["data"][key], value);
            }
        }
    }

    #[test]
    fn a_manager_that_applies_nothing_leaves_what_others_had(theirs in any_config(), own in any_config()) {
        let mut cluster = Cluster::new(sample::config_map());
        let before = cluster.apply("b", theirs).clone();
        cluster.try_apply("a", &own, false).ok();
        let nothing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let after = cluster.apply("a", nothing);
        // An empty map or list says nothing that could be told from its absence once others filled it.
        let data = |object: &Value| object["data"].as_object().cloned().unwrap_or_default();
        prop_assert_eq!(data(after), data(&before));
    }
}
