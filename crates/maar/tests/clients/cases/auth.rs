//! Who one is and what one may.

use crate::kubectl::Kubectl;

pub(super) async fn can_i(kubectl: Kubectl) {
    kubectl.is("auth can-i create deployments", "yes").await;
    let said = kubectl.run("auth can-i delete nodes --as=ann").await;
    assert_eq!((said.out.trim(), said.success), ("no", false));
    kubectl.ok("create role reader --verb=get,list --resource=pods").await;
    kubectl.ok("create rolebinding readers --role=reader --user=ann").await;
    kubectl.is("auth can-i list pods --as=ann", "yes").await;
    assert_eq!(kubectl.run("auth can-i create pods --as=ann").await.out.trim(), "no");
    kubectl.is("auth can-i get /healthz --as=ann --as-group=system:authenticated", "yes").await;
}

pub(super) async fn can_i_list(kubectl: Kubectl) {
    kubectl.ok("create role reader --verb=get,list --resource=pods").await;
    kubectl.ok("create rolebinding readers --role=reader --user=ann").await;
    let out = kubectl.shows("auth can-i --list --as=ann", "pods").await;
    assert!(out.lines().any(|line| line.starts_with("pods ") && line.contains("[get list]")), "{out}");
}

pub(super) async fn as_somebody_else(kubectl: Kubectl) {
    let wanted = format!(
        "User \"ann\" cannot list resource \"pods\" in API group \"\" in the namespace \"{}\"",
        kubectl.namespace
    );
    kubectl.refused("get pods --as=ann", &wanted).await;
    kubectl.ok("create rolebinding viewers --clusterrole=view --group=watchers").await;
    kubectl.ok("get pods --as=bob --as-group=watchers").await;
    kubectl.refused("create configmap a --as=bob --as-group=watchers", "configmaps is forbidden").await;
}

pub(super) async fn who_am_i(kubectl: Kubectl) {
    let out = kubectl.shows("auth whoami", "kubernetes-admin").await;
    assert!(out.contains("system:masters"), "{out}");
    kubectl.shows("auth whoami --as=ann -o jsonpath={.status.userInfo.username}", "ann").await;
}

/// A request for a key that nobody needs, for the user `ann`.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIYk1JR0JBZ0VBTUI4eER6QU5CZ05WQkFvTUJuQmxiM0JzWlRF\
    TU1Bb0dBMVVFQXd3RFlXNXVNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFSXU0WUlKUVkrUmpjTllaU0JPUEM3\
    UmYxUGVEa3p4bnMyZUJxCkhiTVJ6d1VWdXM4VVE2Q1J2azZPazlwNytTbmNTeDRQMmxUZEtaWjBPbklrbTlVR242QUFNQW9HQ0Nx\
    R1NNNDkKQkFNQ0Ewa0FNRVlDSVFEeGNTeXd3UXArT1U5bE1TdEtZWDFGVlFseVZhaU5Melg3Y0pLVlBWS0hId0loQUk0Tgp5YlBh\
    cTNKSVNkdTY5a2xaU3RRUjFRYzFVYUFUTm80emp3QUtEQzBmCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

pub(super) async fn certificates(kubectl: Kubectl) {
    for name in ["good", "bad"] {
        let name = format!("{}-{name}", kubectl.tag);
        kubectl
            .apply(&format!(
                "{{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {{name: {name}}}, spec: \
                 {{request: {REQUEST}, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}}}}"
            ))
            .await;
    }
    let tag = &kubectl.tag;
    kubectl.shows(&format!("get csr {tag}-good"), "Pending").await;
    kubectl.shows(&format!("certificate approve {tag}-good"), "approved").await;
    kubectl.shows(&format!("certificate deny {tag}-bad"), "denied").await;
    kubectl.ok(&format!("wait --for=jsonpath={{.status.certificate}} csr/{tag}-good --timeout=20s")).await;
    kubectl.shows(&format!("get csr {tag}-good"), "Approved,Issued").await;
    kubectl.shows(&format!("get csr {tag}-bad"), "Denied").await;
}

pub(super) async fn tokens(kubectl: Kubectl) {
    kubectl.ok("create serviceaccount robot").await;
    kubectl
        .ok(&format!(
            "create rolebinding robots --clusterrole=view --serviceaccount={}:robot",
            kubectl.namespace
        ))
        .await;
    let token = kubectl.ok("create token robot").await;
    let user = format!("system:serviceaccount:{}:robot", kubectl.namespace);
    // The kubeconfig's certificate would win over a token, so the token comes with a kubeconfig of its own.
    let server = kubectl.ok("config view --raw -o jsonpath={.clusters[0].cluster.server}").await;
    let authority =
        kubectl.ok("config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}'").await;
    kubectl.write(
        "robot",
        &format!(
            "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: '{server}', certificate-authority-data: {authority}}}}}], \
             users: [{{name: u, user: {{token: {}}}}}]}}",
            token.trim()
        ),
    );
    kubectl.shows("--kubeconfig=robot auth whoami", &user).await;
    kubectl.ok("--kubeconfig=robot get pods").await;
    kubectl.refused("--kubeconfig=robot get secrets", "(Forbidden)").await;
}
