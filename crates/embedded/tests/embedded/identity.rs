//! Users over TLS: certificates, tokens, roles, reviews and signing, with `kube` and with `kubectl`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::{SelfSubjectAccessReview, SubjectAccessReview};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use maar_embedded::{Cluster, Config, Listener, UserInfo};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const KUBECTL: &str = "kubectl";

async fn cluster() -> (Cluster, Listener) {
    serve(Config::wall()).await
}

async fn serve(config: Config) -> (Cluster, Listener) {
    // Another test of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cluster = Cluster::start(config).await.unwrap();
    let listener = cluster.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    (cluster, listener)
}

async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    Client::try_from(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}

/// The way to the cluster with other credentials.
async fn client_with(kubeconfig: &str, credentials: Value) -> Client {
    let mut kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let credentials: AuthInfo = serde_json::from_value(credentials).unwrap();
    kubeconfig.auth_infos[0].auth_info = Some(credentials);
    let options = KubeConfigOptions::default();
    Client::try_from(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo {
        username: name.into(),
        groups: groups.iter().map(ToString::to_string).collect(),
        ..UserInfo::default()
    }
}

fn refused(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<K, kube::Error>
where
    K: Resource + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    api.create(&PostParams::default(), &object).await
}

fn namespaced<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(client: &Client) -> Api<K> {
    Api::namespaced(client.clone(), "default")
}

async fn bind(client: &Client, role: &str, kind: &str, name: &str) {
    let binding = json!({
        "metadata": {"name": format!("{role}-{name}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": kind, "name": name}],
    });
    create::<RoleBinding>(&namespaced(client), binding).await.unwrap();
}

#[tokio::test]
async fn certificates_and_tokens_say_who_asks_and_strangers_are_refused() {
    let (cluster, listener) = cluster().await;
    let kubeconfig = cluster.kubeconfig(&listener).unwrap();
    let admin = client(&kubeconfig).await;
    let me = create::<SelfSubjectReview>(&Api::all(admin.clone()), json!({})).await.unwrap();
    let me = me.status.unwrap().user_info.unwrap();
    assert_eq!(me.username.as_deref(), Some("kubernetes-admin"));
    assert_eq!(me.groups.unwrap(), ["system:masters", "system:authenticated"]);

    let token = cluster.admin_token().unwrap();
    let by_token = client_with(&kubeconfig, json!({"token": token})).await;
    let namespaces = Api::<Namespace>::all(by_token).list(&ListParams::default()).await.unwrap();
    assert_eq!(namespaces.items.len(), 4);

    for credentials in [json!({}), json!({"token": "wrong"}), json!({"token": "a.b.c"})] {
        let stranger = client_with(&kubeconfig, credentials).await;
        let error = Api::<Namespace>::all(stranger).list(&ListParams::default()).await.unwrap_err();
        assert_eq!(refused(error), (401, "Unauthorized".into()));
    }

    // A certificate of another cluster is a stranger's too, and the connection lives to say so.
    let (other, other_listener) = serve(Config::wall()).await;
    let theirs = Kubeconfig::from_yaml(&other.kubeconfig(&other_listener).unwrap()).unwrap();
    let theirs = serde_json::to_value(theirs.auth_infos[0].auth_info.clone().unwrap()).unwrap();
    let stranger = client_with(&kubeconfig, theirs.clone()).await;
    let error = Api::<Namespace>::all(stranger).list(&ListParams::default()).await.unwrap_err();
    assert_eq!(refused(error), (401, "Unauthorized".into()));
    // It does not stand in the way of a token that is good.
    let mut both = theirs;
    both["token"] = json!(token);
    let known = client_with(&kubeconfig, both).await;
    assert_eq!(Api::<Namespace>::all(known).list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test]
async fn a_simulated_cluster_can_be_reached_too_and_its_authority_follows_from_the_seed() {
    let (cluster, listener) = serve(Config::simulated(7)).await;
    let admin = client(&cluster.kubeconfig(&listener).unwrap()).await;
    assert_eq!(Api::<Namespace>::all(admin).list(&ListParams::default()).await.unwrap().items.len(), 4);
    let again = Cluster::start(Config::simulated(7)).await.unwrap();
    assert_eq!(cluster.root_ca().unwrap(), again.root_ca().unwrap());
    let other = Cluster::start(Config::simulated(8)).await.unwrap();
    assert_ne!(cluster.root_ca().unwrap(), other.root_ca().unwrap());
}

#[tokio::test]
async fn credentials_outlive_a_restart_and_the_keys_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let config = || Config { data_folder: Some(folder.path().to_owned()), ..Config::wall() };
    // A runtime of its own, so that every task that holds the folder ends with it.
    let first = config();
    let (kubeconfig, token) = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(first_life(first))
    })
    .join()
    .unwrap();
    for file in std::fs::read_dir(folder.path().join("pki")).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.path());
    }
    let (_cluster, listener) = serve(config()).await;
    let moved = moved(&kubeconfig, &listener);
    assert_eq!(
        Api::<Namespace>::all(client(&moved).await).list(&ListParams::default()).await.unwrap().items.len(),
        4
    );
    let robot = client_with(&moved, json!({"token": token})).await;
    create::<SelfSubjectReview>(&Api::all(robot), json!({})).await.unwrap();
}

async fn first_life(config: Config) -> (String, String) {
    let (cluster, listener) = serve(config).await;
    let accounts: Api<ServiceAccount> = namespaced(&cluster.client());
    create(&accounts, service_account("robot")).await.unwrap();
    let token = token(&cluster.client(), "robot", json!({})).await;
    let kubeconfig = cluster.kubeconfig(&listener).unwrap();
    listener.stop().await;
    cluster.stop().await;
    (kubeconfig, token)
}

/// The same kubeconfig for the port the cluster has now.
fn moved(kubeconfig: &str, listener: &Listener) -> String {
    let server = |line: &str| line.trim_start().starts_with("server:");
    let lines = kubeconfig.lines().map(|line| {
        if server(line) { format!("    server: {}\n", listener.url()) } else { format!("{line}\n") }
    });
    lines.collect()
}

fn service_account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
}

async fn token(client: &Client, account: &str, spec: Value) -> String {
    request_token(client, account, spec).await.unwrap().status.unwrap().token.unwrap()
}

async fn request_token(client: &Client, account: &str, spec: Value) -> Result<TokenRequest, kube::Error> {
    let body = json!({"spec": spec}).to_string().into_bytes();
    let path = format!("/api/v1/namespaces/default/serviceaccounts/{account}/token");
    let request = http::Request::post(path).header("content-type", "application/json").body(body);
    client.request(request.map_err(kube::Error::HttpError)?).await
}

#[tokio::test]
async fn roles_decide_and_refusals_say_what_is_missing() {
    let (cluster, listener) = cluster().await;
    let admin = cluster.client();
    let jane = client(&cluster.kubeconfig_for(&listener, &user("jane", &["team"])).unwrap()).await;
    let error = namespaced::<Pod>(&jane).list(&ListParams::default()).await.unwrap_err();
    let want = r#"pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default""#;
    assert_eq!(refused(error), (403, want.into()));

    bind(&admin, "view", "Group", "team").await;
    namespaced::<Pod>(&jane).list(&ListParams::default()).await.unwrap();
    assert_eq!(refused(namespaced::<Secret>(&jane).list(&ListParams::default()).await.unwrap_err()).0, 403);
    assert_eq!(refused(Api::<Pod>::all(jane.clone()).list(&ListParams::default()).await.unwrap_err()).0, 403);
    // A namespace is in itself.
    Api::<Namespace>::all(jane.clone()).get("default").await.unwrap();
    assert_eq!(refused(Api::<Namespace>::all(jane.clone()).get("kube-system").await.unwrap_err()).0, 403);

    bind(&admin, "edit", "User", "jane").await;
    create::<ConfigMap>(&namespaced(&jane), json!({"metadata": {"name": "a"}})).await.unwrap();
    let bindings: Api<RoleBinding> = namespaced(&admin);
    bindings.delete("edit-jane", &DeleteParams::default()).await.unwrap();
    let error =
        create::<ConfigMap>(&namespaced(&jane), json!({"metadata": {"name": "b"}})).await.unwrap_err();
    assert_eq!(refused(error).0, 403);
}

#[tokio::test]
async fn a_role_can_name_objects_and_collect_other_roles() {
    let cluster = Cluster::start(Config::wall()).await.unwrap();
    let (admin, jane) = (cluster.client(), cluster.client_as(user("jane", &[])));
    let role = json!({
        "metadata": {"name": "one"},
        "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}],
    });
    create::<Role>(&namespaced(&admin), role).await.unwrap();
    let binding = json!({
        "metadata": {"name": "one"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
        "subjects": [{"kind": "User", "name": "jane"}],
    });
    create::<RoleBinding>(&namespaced(&admin), binding).await.unwrap();
    for name in ["a", "b"] {
        create::<ConfigMap>(&namespaced(&admin), json!({"metadata": {"name": name}})).await.unwrap();
    }
    let maps: Api<ConfigMap> = namespaced(&jane);
    maps.get("a").await.unwrap();
    maps.list(&ListParams::default().fields("metadata.name=a")).await.unwrap();
    assert_eq!(refused(maps.get("b").await.unwrap_err()).0, 403);
    assert_eq!(refused(maps.list(&ListParams::default()).await.unwrap_err()).0, 403);

    let part = json!({
        "metadata": {"name": "more-view", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"verbs": ["list"], "apiGroups": ["example.com"], "resources": ["things"]}],
    });
    create::<ClusterRole>(&Api::all(admin.clone()), part).await.unwrap();
    let question = json!({"spec": {
        "user": "joe",
        "resourceAttributes": {"verb": "list", "group": "example.com", "resource": "things", "namespace": "default"},
    }});
    bind(&admin, "admin", "User", "joe").await;
    let answer = create::<SubjectAccessReview>(&Api::all(admin), question).await.unwrap().status.unwrap();
    assert!(answer.allowed);
    let want = r#"RBAC: allowed by RoleBinding "admin-joe/default" of ClusterRole "admin" to User "joe""#;
    assert_eq!(answer.reason.as_deref(), Some(want));
}

#[tokio::test]
async fn nobody_gives_away_what_they_do_not_have() {
    let cluster = Cluster::start(Config::wall()).await.unwrap();
    let (admin, jane) = (cluster.client(), cluster.client_as(user("jane", &[])));
    bind(&admin, "admin", "User", "jane").await;
    let role = |verb: &str, resource: &str| json!({"metadata": {"name": resource}, "rules": [{"verbs": [verb], "apiGroups": [""], "resources": [resource]}]});
    let roles: Api<Role> = namespaced(&jane);
    create(&roles, role("get", "pods")).await.unwrap();
    let (code, message) = refused(create(&roles, role("get", "nodes")).await.unwrap_err());
    assert_eq!(code, 403);
    let want = "attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}";
    assert!(message.ends_with(want), "{message}");
    let bind_to = |role: &str| {
        json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": "joe"}],
        })
    };
    create::<RoleBinding>(&namespaced(&jane), bind_to("edit")).await.unwrap();
    let error = create::<RoleBinding>(&namespaced(&jane), bind_to("cluster-admin")).await.unwrap_err();
    assert_eq!(refused(error).0, 403);
    let error = create::<ClusterRoleBinding>(&Api::all(jane.clone()), bind_to("view")).await.unwrap_err();
    assert_eq!(refused(error).0, 403);
    // With the right to bind that one role, it can be given without being had.
    let may_bind = json!({
        "metadata": {"name": "binder"},
        "rules": [{"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["cluster-admin"]}],
    });
    create::<ClusterRole>(&Api::all(admin.clone()), may_bind).await.unwrap();
    bind(&admin, "binder", "User", "jane").await;
    create::<RoleBinding>(&namespaced(&jane), bind_to("cluster-admin")).await.unwrap();
}

#[tokio::test]
async fn acting_as_somebody_else_needs_the_right_to() {
    let (cluster, listener) = cluster().await;
    let whoami = async |as_whom: &str, kubeconfig: &str| {
        let mut config = Kubeconfig::from_yaml(kubeconfig).unwrap();
        config.auth_infos[0].auth_info.as_mut().unwrap().impersonate = Some(as_whom.to_owned());
        let yaml = serde_json::to_string(&config).unwrap();
        let answer = create::<SelfSubjectReview>(&Api::all(client(&yaml).await), json!({})).await;
        answer.map(|review| review.status.unwrap().user_info.unwrap())
    };
    let admin = cluster.kubeconfig(&listener).unwrap();
    let robot = whoami("system:serviceaccount:default:robot", &admin).await.unwrap();
    let want = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    assert_eq!(robot.groups.unwrap(), want);
    let jane = cluster.kubeconfig_for(&listener, &user("jane", &[])).unwrap();
    let want = r#"users "joe" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope"#;
    assert_eq!(refused(whoami("joe", &jane).await.unwrap_err()), (403, want.into()));
}

#[tokio::test]
async fn a_token_dies_with_what_it_is_bound_to() {
    let (cluster, listener) = cluster().await;
    let admin = cluster.client();
    let kubeconfig = cluster.kubeconfig(&listener).unwrap();
    let accounts: Api<ServiceAccount> = namespaced(&admin);
    for name in ["robot", "other"] {
        create(&accounts, service_account(name)).await.unwrap();
    }
    let pod = |account: &str| {
        json!({
            "metadata": {"name": account},
            "spec": {"serviceAccountName": account, "containers": [{"name": "main", "image": "busybox"}]},
        })
    };
    let pods: Api<Pod> = namespaced(&admin);
    create(&pods, pod("robot")).await.unwrap();
    let reference = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "robot"}});
    let pod_token = token(&admin, "robot", reference.clone()).await;
    assert_eq!(refused(request_token(&admin, "other", reference).await.unwrap_err()).0, 400);
    let short = refused(request_token(&admin, "robot", json!({"expirationSeconds": 60})).await.unwrap_err());
    assert_eq!(short.0, 422);

    let who = async |token: &str| {
        let client = client_with(&kubeconfig, json!({"token": token})).await;
        let review = create::<SelfSubjectReview>(&Api::all(client), json!({})).await;
        review.map(|review| review.status.unwrap().user_info.unwrap()).map_err(|error| refused(error).0)
    };
    let robot = who(&pod_token).await.unwrap();
    assert_eq!(robot.username.as_deref(), Some("system:serviceaccount:default:robot"));
    assert_eq!(robot.extra.unwrap()["authentication.kubernetes.io/pod-name"], ["robot"]);
    let foreign = token(&admin, "robot", json!({"audiences": ["vault"]})).await;
    assert_eq!(who(&foreign).await.unwrap_err(), 401);
    let review = |token: &str, audience: &str| json!({"spec": {"token": token, "audiences": [audience]}});
    let reviews: Api<TokenReview> = Api::all(admin.clone());
    let answer = create(&reviews, review(&foreign, "vault")).await.unwrap().status.unwrap();
    assert_eq!((answer.authenticated, answer.audiences.unwrap()), (Some(true), vec!["vault".to_owned()]));
    let answer = create(&reviews, review(&foreign, "elsewhere")).await.unwrap().status.unwrap();
    assert_ne!(answer.authenticated, Some(true));

    let plain = token(&admin, "robot", json!({})).await;
    pods.delete("robot", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert_eq!(who(&pod_token).await.unwrap_err(), 401);
    who(&plain).await.unwrap();
    accounts.delete("robot", &DeleteParams::default()).await.unwrap();
    assert_eq!(who(&plain).await.unwrap_err(), 401);
}

#[tokio::test]
async fn a_secret_is_filled_with_a_token_and_goes_with_its_account() {
    let (cluster, listener) = cluster().await;
    let admin = cluster.client();
    create::<ServiceAccount>(&namespaced(&admin), service_account("robot")).await.unwrap();
    let secrets: Api<Secret> = namespaced(&admin);
    let asking = |name: &str, account: &str| {
        json!({"metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account}},
            "type": "kubernetes.io/service-account-token"})
    };
    create(&secrets, asking("robot-token", "robot")).await.unwrap();
    create(&secrets, asking("lost", "nobody")).await.unwrap();
    let is_filled = |secret: Option<&Secret>| {
        secret.is_some_and(|secret| secret.data.as_ref().is_some_and(|data| data.contains_key("token")))
    };
    let filled = kube::runtime::wait::await_condition(secrets, "robot-token", is_filled);
    let data = filled.await.unwrap().unwrap().data.unwrap();
    assert_eq!(data["namespace"].0, b"default");
    assert_eq!(data["ca.crt"].0, cluster.root_ca().unwrap().as_bytes());
    let token = String::from_utf8(data["token"].0.clone()).unwrap();
    let robot = client_with(&cluster.kubeconfig(&listener).unwrap(), json!({"token": token})).await;
    let me = create::<SelfSubjectReview>(&Api::all(robot.clone()), json!({})).await.unwrap();
    let me = me.status.unwrap().user_info.unwrap();
    assert_eq!(me.username.as_deref(), Some("system:serviceaccount:default:robot"));
    let gone = |name: &'static str| {
        let gone = |secret: Option<&Secret>| secret.is_none();
        kube::runtime::wait::await_condition(namespaced::<Secret>(&admin), name, gone)
    };
    gone("lost").await.unwrap();
    namespaced::<ServiceAccount>(&admin).delete("robot", &DeleteParams::default()).await.unwrap();
    gone("robot-token").await.unwrap();
    let error = create::<SelfSubjectReview>(&Api::all(robot), json!({})).await.unwrap_err();
    assert_eq!(refused(error).0, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_in_time() {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    let admin = cluster.client();
    create::<ServiceAccount>(&namespaced(&admin), service_account("robot")).await.unwrap();
    let token = token(&admin, "robot", json!({"expirationSeconds": 600})).await;
    let holds = async || {
        let review = json!({"spec": {"token": token}});
        let review = create::<TokenReview>(&Api::all(admin.clone()), review).await.unwrap();
        review.status.unwrap().authenticated.unwrap_or_default()
    };
    assert!(holds().await);
    tokio::time::advance(std::time::Duration::from_secs(599)).await;
    assert!(holds().await);
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert!(!holds().await);
}

#[tokio::test]
async fn questions_about_access_are_answered() {
    let cluster = Cluster::start(Config::wall()).await.unwrap();
    let jane = cluster.client_as(user("jane", &[]));
    bind(&cluster.client(), "view", "User", "jane").await;
    let may = async |verb: &str, resource: &str| {
        let attributes = json!({"verb": verb, "resource": resource, "namespace": "default"});
        let review = json!({"spec": {"resourceAttributes": attributes}});
        create::<SelfSubjectAccessReview>(&Api::all(jane.clone()), review)
            .await
            .unwrap()
            .status
            .unwrap()
            .allowed
    };
    assert!(may("list", "pods").await);
    assert!(!may("delete", "pods").await);
    let question =
        json!({"spec": {"user": "jane", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}});
    let forbidden =
        create::<SubjectAccessReview>(&Api::all(jane.clone()), question.clone()).await.unwrap_err();
    assert_eq!(refused(forbidden).0, 403);
    let answer = create::<SubjectAccessReview>(&Api::all(cluster.client()), question).await.unwrap();
    assert!(!answer.status.unwrap().allowed);
}

fn signing_request(common_name: &str, key: &KeyPair) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.serialize_request(key).unwrap().pem().unwrap()
}

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn an_approved_request_becomes_a_certificate_that_works() {
    let (cluster, listener) = cluster().await;
    let (admin, jane) = (cluster.client(), cluster.client_as(user("jane", &["team"])));
    let kubeconfig = cluster.kubeconfig(&listener).unwrap();
    let requester = json!({
        "metadata": {"name": "requester"},
        "rules": [
            {"verbs": ["create", "get"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"]},
            {"verbs": ["update", "patch"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests/approval"]},
        ],
    });
    create::<ClusterRole>(&Api::all(admin.clone()), requester).await.unwrap();
    let binding = json!({
        "metadata": {"name": "requester"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "requester"},
        "subjects": [{"kind": "Group", "name": "team"}],
    });
    create::<ClusterRoleBinding>(&Api::all(admin.clone()), binding).await.unwrap();

    let key = KeyPair::generate().unwrap();
    let request = json!({
        "metadata": {"name": "bob"},
        "spec": {
            "request": encoded(&signing_request("bob", &key)),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
            "expirationSeconds": 3600,
            "username": "somebody else",
        },
    });
    let created = create::<CertificateSigningRequest>(&Api::all(jane.clone()), request).await.unwrap();
    assert_eq!(created.spec.username.as_deref(), Some("jane"));
    let approve =
        json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}});
    let approval = |client: &Client| {
        let request =
            http::Request::patch("/apis/certificates.k8s.io/v1/certificatesigningrequests/bob/approval")
                .header("content-type", "application/merge-patch+json")
                .body(serde_json::to_vec(&approve).unwrap())
                .unwrap();
        let client = client.clone();
        async move { client.request::<CertificateSigningRequest>(request).await }
    };
    let want = r#"certificatesigningrequests.certificates.k8s.io "bob" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client""#;
    assert_eq!(refused(approval(&jane).await.unwrap_err()), (403, want.into()));
    approval(&admin).await.unwrap();
    let requests: Api<CertificateSigningRequest> = Api::all(admin);
    let signed = kube::runtime::wait::await_condition(
        requests,
        "bob",
        |request: Option<&CertificateSigningRequest>| {
            request.is_some_and(|request| {
                request.status.as_ref().is_some_and(|status| status.certificate.is_some())
            })
        },
    );
    let signed = signed.await.unwrap().unwrap();
    let certificate = String::from_utf8(signed.status.unwrap().certificate.unwrap().0).unwrap();
    let credentials = json!({
        "client-certificate-data": encoded(&certificate),
        "client-key-data": encoded(&key.serialize_pem()),
    });
    let bob = client_with(&kubeconfig, credentials).await;
    let me = create::<SelfSubjectReview>(&Api::all(bob), json!({})).await.unwrap();
    assert_eq!(me.status.unwrap().user_info.unwrap().username.as_deref(), Some("bob"));
}

/// Runs kubectl and answers whether it succeeded and what it said.
#[tokio::test]
async fn a_certificate_names_every_organization_of_its_request() {
    let (cluster, listener) = cluster().await;
    let kubeconfig = cluster.kubeconfig(&listener).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "red");
    // The same by its number: of each type rcgen keeps one.
    params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 10]), "blue");
    params.distinguished_name.push(DnType::CommonName, "bob");
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    let requests: Api<CertificateSigningRequest> = Api::all(cluster.client());
    let request = json!({"metadata": {"name": "bob"}, "spec": {"request": encoded(&request),
        "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}});
    create(&requests, request).await.unwrap();
    let approve =
        json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}});
    let approval =
        http::Request::patch("/apis/certificates.k8s.io/v1/certificatesigningrequests/bob/approval")
            .header("content-type", "application/merge-patch+json")
            .body(serde_json::to_vec(&approve).unwrap())
            .unwrap();
    cluster.client().request::<CertificateSigningRequest>(approval).await.unwrap();
    let signed = kube::runtime::wait::await_condition(
        requests,
        "bob",
        |request: Option<&CertificateSigningRequest>| {
            let status = request.and_then(|request| request.status.as_ref());
            status.is_some_and(|status| {
                let failed = status.conditions.iter().flatten().any(|condition| condition.type_ == "Failed");
                failed || status.certificate.is_some()
            })
        },
    );
    let status = signed.await.unwrap().unwrap().status.unwrap();
    let certificate = String::from_utf8(status.certificate.unwrap().0).unwrap();
    let credentials = json!({"client-certificate-data": encoded(&certificate),
        "client-key-data": encoded(&key.serialize_pem())});
    let bob = client_with(&kubeconfig, credentials).await;
    let me = create::<SelfSubjectReview>(&Api::all(bob), json!({})).await.unwrap();
    let me = me.status.unwrap().user_info.unwrap();
    assert_eq!(me.groups.unwrap(), ["red", "blue", "system:authenticated"]);
}

async fn kubectl(kubeconfig: &Path, arguments: &[&str], input: &str) -> (bool, String) {
    use tokio::io::AsyncWriteExt as _;
    let mut child = tokio::process::Command::new(KUBECTL)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments)
        .env("HOME", kubeconfig.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[tokio::test]
async fn kubectl_asks_who_it_is_and_what_it_may_and_approves_certificates() {
    // `dev/absent` names it.
    if tokio::process::Command::new(KUBECTL).args(["version", "--client"]).output().await.is_err() {
        return;
    }
    let (cluster, listener) = cluster().await;
    let folder = tempfile::tempdir().unwrap();
    let admin = written(folder.path(), "admin", &cluster.kubeconfig(&listener).unwrap());
    let jane = cluster.kubeconfig_for(&listener, &user("jane", &["team"])).unwrap();
    let jane = written(folder.path(), "jane", &jane);

    let (ok, said) = kubectl(&admin, &["get", "ns", "-o", "name"], "").await;
    assert!(ok && said.contains("namespace/kube-system"), "{said}");
    let (ok, said) = kubectl(&jane, &["get", "pods"], "").await;
    assert!(!ok && said.contains(r#"User "jane" cannot list resource "pods""#), "{said}");
    let (ok, said) = kubectl(&jane, &["auth", "whoami"], "").await;
    assert!(ok && said.contains("jane") && said.contains("[team system:authenticated]"), "{said}");
    let (ok, said) = kubectl(&jane, &["auth", "can-i", "list", "pods"], "").await;
    assert!(!ok && said.starts_with("no"), "{said}");
    let grant = ["create", "rolebinding", "view", "--clusterrole=view", "--group=team"];
    let (ok, said) = kubectl(&admin, &grant, "").await;
    assert!(ok, "{said}");
    let (ok, said) = kubectl(&jane, &["auth", "can-i", "list", "pods"], "").await;
    assert!(ok && said.starts_with("yes"), "{said}");
    let (ok, said) = kubectl(&jane, &["auth", "can-i", "--list"], "").await;
    assert!(
        ok && said.contains("selfsubjectreviews.authentication.k8s.io") && said.contains("/healthz"),
        "{said}"
    );
    let (ok, said) = kubectl(&admin, &["get", "pods", "--as", "jane"], "").await;
    assert!(!ok && said.contains("forbidden"), "{said}");

    let (ok, said) = kubectl(&admin, &["create", "serviceaccount", "robot"], "").await;
    assert!(ok, "{said}");
    let (ok, token) = kubectl(&admin, &["create", "token", "robot", "--duration=1h"], "").await;
    assert!(ok && token.trim().split('.').count() == 3, "{token}");
    let bare = cluster.kubeconfig(&listener).unwrap();
    let bare = bare
        .lines()
        .filter(|line| !line.contains("client-"))
        .fold(String::new(), |text, line| text + line + "\n");
    let robot = written(folder.path(), "robot", &format!("{bare}    token: {token}"));
    let (ok, said) = kubectl(&robot, &["auth", "whoami"], "").await;
    assert!(ok && said.contains("system:serviceaccount:default:robot"), "{said}");

    let key = KeyPair::generate().unwrap();
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "bob"},
        "spec": {
            "request": encoded(&signing_request("bob", &key)),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    });
    let create = ["create", "--validate=false", "-f", "-"];
    let (ok, said) = kubectl(&admin, &create, &request.to_string()).await;
    assert!(ok, "{said}");
    let (ok, said) = kubectl(&admin, &["certificate", "approve", "bob"], "").await;
    assert!(ok && said.contains("approved"), "{said}");
    let wait = ["wait", "csr/bob", "--for=jsonpath={.status.certificate}", "--timeout=20s"];
    let (ok, said) = kubectl(&admin, &wait, "").await;
    assert!(ok, "{said}");
    listener.stop().await;
}
