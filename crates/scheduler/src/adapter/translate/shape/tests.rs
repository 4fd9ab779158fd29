use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::{CardKindId, LabelSelector as Selector, Operator, Toleration};

fn names() -> CardNames {
    CardNames(vec!["nvidia.com/gpu".to_owned()])
}

fn template(pod: Value) -> Template {
    let wire::Pod { metadata, mut spec, .. } = serde_json::from_value(pod).unwrap();
    let all = BTreeMap::from([
        ("n".to_owned(), Labels::new()),
        ("blue".to_owned(), Labels::from([("team".to_owned(), "blue".to_owned())])),
    ]);
    Template::new(
        "n".into(),
        spec.take_template(),
        &metadata.labels,
        &metadata.annotations,
        Ties::default(),
        &all,
    )
}

fn shape(pod: Value) -> Result<Arc<Shape>, Unfit> {
    let mut resources = Resources::default();
    resources.card("nvidia.com/gpu");
    Shapes::default().get(template(pod), &names(), &mut resources)
}

fn asking(requests: &Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"resources": {"requests": requests}}]}})
}

#[test]
fn pods_of_one_template_share_a_shape() {
    let mut shapes = Shapes::default();
    let mut resources = Resources::default();
    let mut one = |name: &str, node: &str| {
        let mut pod = asking(&json!({"cpu": "1", "nvidia.com/gpu": "1"}));
        pod["metadata"]["name"] = json!(name);
        pod["spec"]["nodeName"] = json!(node);
        pod["spec"]["volumes"] = json!([{"name": format!("kube-api-access-{name}"), "projected": {}}]);
        shapes.get(template(pod), &names(), &mut resources).unwrap()
    };
    let (first, second) = (one("a", ""), one("b", "node-3"));
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(shapes.len(), 1);
}

#[test]
fn cards_are_taken_out_of_the_requests() {
    let found = shape(asking(&json!({"cpu": "500m", "nvidia.com/gpu": "2"}))).unwrap();
    assert_eq!(found.cards, CardRequest::whole(CardKindId(0), 2));
    let left: Vec<_> = found.requests.iter().collect();
    assert_eq!(left, [(ResourceId::CPU, 500), (ResourceId::PODS, 1)]);
}

#[test]
fn nonsense_is_refused_with_a_sentence() {
    let mut both = asking(&json!({"nvidia.com/gpu": "1"}));
    both["metadata"]["annotations"] = json!({"maar.io/card-share": "nvidia.com/gpu=0.5"});
    let mut claims = asking(&json!({}));
    claims["spec"]["resourceClaims"] = json!([{"name": "gpu"}]);
    let mut toleration = asking(&json!({}));
    toleration["spec"]["tolerations"] = json!([{"key": "a", "operator": "Gt", "value": "5"}]);
    let rows = [
        (asking(&json!({"cpu": "lots"})), "cannot be read"),
        (asking(&json!({"nvidia.com/gpu": "0.5"})), "not a number of cards"),
        (asking(&json!({"nvidia.com/gpu": "99999999"})), "not a number of cards"),
        (asking(&json!({"cpu": "-1"})), "it asks for -1 of cpu"),
        (both, "at the same time"),
        (claims, "not supported"),
        (toleration, "not supported"),
    ];
    for (pod, want) in rows {
        let found = shape(pod.clone()).unwrap_err();
        assert!(found.0.contains(want), "{pod}: {found}");
    }
}

#[test]
fn affinities_name_their_namespaces() {
    let rows = [
        (json!({}), Some(vec!["n".to_owned()])),
        (json!({"namespaces": ["other"]}), Some(vec!["other".to_owned()])),
        (json!({"namespaceSelector": {}}), None),
        (json!({"namespaceSelector": {"matchLabels": {"team": "blue"}}}), Some(vec!["blue".to_owned()])),
        (json!({"namespaceSelector": {"matchLabels": {"team": "red"}}}), Some(vec![String::new()])),
    ];
    for (mut term, want) in rows {
        term["topologyKey"] = json!("zone");
        term["labelSelector"] = json!({"matchLabels": {"app": "a"}});
        let mut pod = asking(&json!({}));
        pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!([term]);
        assert_eq!(shape(pod).unwrap().anti_affinity[0].namespaces, want, "{term}");
    }
}

#[test]
fn wishes_about_pods_have_a_weight_and_a_side() {
    let term = |app: &str| {
        json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone",
        "matchLabelKeys": ["pod-template-hash"], "namespaceSelector": {"matchLabels": {"team": "blue"}}})
    };
    let wish = |weight: i32, app: &str| json!([{"weight": weight, "podAffinityTerm": term(app)}]);
    let mut pod = asking(&json!({}));
    pod["metadata"]["labels"] = json!({"pod-template-hash": "5"});
    let affinity = &mut pod["spec"]["affinity"];
    affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = wish(7, "near");
    affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = wish(9, "away");
    let found = shape(pod).unwrap().preferred_pods.clone();
    assert_eq!(found.iter().map(|one| one.weight).collect::<Vec<_>>(), [7, -9]);
    for one in &found {
        assert_eq!(one.term.namespaces, Some(vec!["blue".to_owned()]));
        assert_eq!(one.term.selector.0.as_ref().unwrap().len(), 2, "the same template only");
    }
}

#[test]
fn labels_named_by_key_narrow_the_spread() {
    let mut pod = asking(&json!({}));
    pod["metadata"]["labels"] = json!({"app": "a", "pod-template-hash": "5"});
    pod["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable":
        "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["pod-template-hash"]}]);
    let found = shape(pod).unwrap();
    let Selector(Some(requirements)) = &found.spread[0].selector else { panic!("{found:?}") };
    assert_eq!(requirements.len(), 2);
    assert_eq!((requirements[1].key.as_str(), requirements[1].operator), ("pod-template-hash", Operator::In));
    assert!(found.spread[0].honor_affinity && !found.spread[0].honor_taints);
}

#[test]
fn a_required_affinity_without_terms_matches_no_node() {
    let mut pod = asking(&json!({}));
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [{}]});
    let found = shape(pod).unwrap();
    assert_eq!(found.node_terms.len(), 1);
    assert_eq!(found.node_terms[0].names[0].values, [""; 0]);
}

#[test]
fn a_toleration_of_everything_has_no_key() {
    let mut pod = asking(&json!({}));
    pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    assert_eq!(shape(pod).unwrap().tolerations, [Toleration { key: None, value: None, effect: None }]);
}

proptest! {
    #[test]
    fn no_quantity_stops_the_reader(name in ".{0,20}", text in ".{0,20}") {
        let _ = shape(asking(&json!({name: text})));
    }
}
