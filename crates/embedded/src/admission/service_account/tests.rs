use serde_json::{from_value, json};

use super::*;

fn account(value: Value) -> Account {
    from_value(value).unwrap()
}

fn pod(spec: &Value) -> Value {
    let mut pod = json!({"metadata": {}, "spec": {"containers": [{"name": "c"}]}});
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn completed(spec: &Value, account: &Account) -> Value {
    let mut pod = pod(spec);
    name_account(&mut pod);
    complete(&mut pod, account, || "abcde".to_owned());
    pod
}

#[test]
fn a_plain_pod_gets_account_token_and_mount() {
    let pod = completed(&json!({"initContainers": [{"name": "i"}]}), &Account::default());
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["spec"]["serviceAccount"], "default");
    let mount = json!([{"name": "kube-api-access-abcde", "readOnly": true, "mountPath": MOUNT_PATH}]);
    assert_eq!(pod["spec"]["containers"][0]["volumeMounts"], mount);
    assert_eq!(pod["spec"]["initContainers"][0]["volumeMounts"], mount);
    assert_eq!(pod["spec"]["volumes"][0]["name"], "kube-api-access-abcde");
    let sources = pod["spec"]["volumes"][0]["projected"]["sources"].as_array().unwrap();
    assert_eq!(sources[0]["serviceAccountToken"], json!({"expirationSeconds": 3607, "path": "token"}));
    let mut again = pod.clone();
    complete(&mut again, &Account::default(), || "other".to_owned());
    assert_eq!(again, pod, "a second time changes nothing");
}

#[test]
fn the_pod_decides_before_its_account_whether_the_token_is_mounted() {
    let (yes, no) =
        (json!({"automountServiceAccountToken": true}), json!({"automountServiceAccountToken": false}));
    let rows = [
        (json!({}), json!({}), true),
        (json!({}), no.clone(), false),
        (yes.clone(), no.clone(), true),
        (no, yes, false),
    ];
    for (spec, of_account, want) in rows {
        let pod = completed(&spec, &account(of_account.clone()));
        assert_eq!(pod["spec"]["volumes"].is_array(), want, "pod {spec}, account {of_account}");
    }
}

#[test]
fn a_mount_at_the_same_place_wins() {
    let own =
        json!({"containers": [{"name": "c", "volumeMounts": [{"name": "mine", "mountPath": MOUNT_PATH}]}]});
    let pod = completed(&own, &Account::default());
    assert_eq!(pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap().len(), 1);
    assert!(pod["spec"].get("volumes").is_none());
}

#[test]
fn pull_secrets_come_from_the_account_unless_the_pod_has_some() {
    let account = account(json!({"imagePullSecrets": [{"name": "a"}]}));
    assert_eq!(completed(&json!({}), &account)["spec"]["imagePullSecrets"], json!([{"name": "a"}]));
    let own = json!({"imagePullSecrets": [{"name": "b"}]});
    assert_eq!(completed(&own, &account)["spec"]["imagePullSecrets"], json!([{"name": "b"}]));
}

#[test]
fn an_account_may_insist_on_its_secrets() {
    let strict = account(json!({"metadata": {"name": "sa", "annotations": {ENFORCE_SECRETS: "true"}},
        "secrets": [{"name": "ok"}]}));
    let volume = |secret: &str| pod(&json!({"volumes": [{"name": "v", "secret": {"secretName": secret}}]}));
    assert_eq!(check_secrets(&volume("ok"), &strict), Ok(()));
    assert_eq!(
        check_secrets(&volume("other"), &strict).unwrap_err(),
        "volume with secret.secretName=\"other\" is not allowed because service account sa does not reference that secret"
    );
    let variable = json!({"containers": [{"name": "c", "env": [{"name": "E",
        "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]}]});
    assert!(
        check_secrets(&pod(&variable), &strict)
            .unwrap_err()
            .starts_with("container c with envVar E referencing")
    );
    assert_eq!(check_secrets(&volume("other"), &Account::default()), Ok(()));
}

#[test]
fn mirror_pods_refer_to_nothing() {
    assert_eq!(check_mirror(&pod(&json!({}))), Ok(()));
    for spec in [
        json!({"serviceAccountName": "x"}),
        json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
        json!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
    ] {
        assert!(check_mirror(&pod(&spec)).is_err(), "{spec}");
    }
}
