//! `kubectl create`, `run` and `expose`.

use crate::kubectl::Kubectl;

pub(super) async fn from_files(kubectl: Kubectl) {
    kubectl.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    kubectl.write("two.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}"#);
    kubectl.shows("create -f one.yaml -f two.json", "configmap/two created").await;
    kubectl.refused("create -f one.yaml", "(AlreadyExists)").await;
    kubectl.write("bad.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, date: {}}");
    kubectl.refused("create -f bad.yaml --validate=strict", "unknown field \"date\"").await;
    let said = kubectl.run("create -f bad.yaml --validate=warn").await;
    assert!(said.success && said.err.contains("Warning: unknown field \"date\""), "{said:?}");
    kubectl.write("strange.yaml", "{apiVersion: example.org/v1, kind: Strange, metadata: {name: a}}");
    kubectl.refused("create -f strange.yaml", "no matches for kind \"Strange\"").await;
}

pub(super) async fn deployment(kubectl: Kubectl) {
    kubectl
        .is("create deployment web --image=nginx --replicas=2 --port=80", "deployment.apps/web created")
        .await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    kubectl.is("get deployment web -o jsonpath={.status.readyReplicas}", "2").await;
    let out = kubectl.ok("get deployment web").await;
    let row: Vec<&str> = out.lines().nth(1).unwrap().split_whitespace().take(4).collect();
    assert_eq!(row, ["web", "2/2", "2", "2"]);
}

pub(super) async fn config_map(kubectl: Kubectl) {
    kubectl.write("file.txt", "from a file");
    kubectl.write("more.env", "A=1\nB=2\n");
    kubectl.ok("create configmap a --from-literal=key=value --from-file=file.txt").await;
    kubectl.ok("create configmap b --from-env-file=more.env").await;
    kubectl.is("get configmap a -o jsonpath={.data.key}/{.data.file\\.txt}", "value/from a file").await;
    kubectl.is("get configmap b -o jsonpath={.data.A}{.data.B}", "12").await;
}

pub(super) async fn secret(kubectl: Kubectl) {
    kubectl.ok("create secret generic a --from-literal=password=hidden").await;
    kubectl.is("get secret a -o go-template='{{.data.password | base64decode}}'", "hidden").await;
    let out = kubectl.ok("describe secret a").await;
    assert!(!out.contains("hidden") && out.contains("6 bytes"), "{out}");
    kubectl
        .ok("create secret docker-registry b --docker-server=r --docker-username=u --docker-password=p")
        .await;
    kubectl.is("get secret b -o jsonpath={.type}", "kubernetes.io/dockerconfigjson").await;
}

pub(super) async fn job_and_cron_job(kubectl: Kubectl) {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {metadata: {annotations: \
               {sim.maar.io/run-time: 100ms}}, spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}";
    kubectl.apply(job).await;
    kubectl.ok("wait --for=condition=Complete job/once").await;
    let row = kubectl.shows("get job once --no-headers", "1/1").await;
    assert!(row.contains("Complete"), "{row}");
    kubectl.ok("create cronjob tick --image=busybox --schedule='0 0 1 1 *' -- date").await;
    kubectl.is("create job now --from=cronjob/tick", "job.batch/now created").await;
    kubectl.is("get job now -o jsonpath={.spec.template.spec.containers[0].command[0]}", "date").await;
    kubectl.shows("get cronjob", "0 0 1 1 *").await;
}

pub(super) async fn namespace(kubectl: Kubectl) {
    let name = format!("{}-extra", kubectl.namespace);
    kubectl.is(&format!("create namespace {name}"), &format!("namespace/{name} created")).await;
    kubectl.is(&format!("get namespace {name} -o jsonpath={{.status.phase}}"), "Active").await;
    kubectl.ok(&format!("delete namespace {name}")).await;
    kubectl.refused(&format!("get namespace {name}"), "(NotFound)").await;
}

pub(super) async fn quota_and_limits(kubectl: Kubectl) {
    kubectl.ok("create quota small --hard=pods=1,configmaps=10").await;
    kubectl.ok("wait --for=jsonpath={.status.hard.pods}=1 quota/small").await;
    kubectl.ok("run first --image=busybox").await;
    kubectl.refused("run second --image=busybox", "exceeded quota: small").await;
    let out = kubectl.ok("describe quota small").await;
    let pods: Vec<&str> =
        out.lines().find(|line| line.starts_with("pods")).unwrap().split_whitespace().collect();
    assert_eq!(pods, ["pods", "1", "1"]);
    kubectl
        .apply(
            "{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [{type: Container, \
             default: {cpu: 100m}}]}}",
        )
        .await;
    kubectl.shows("describe limits limits", "100m").await;
}

pub(super) async fn roles(kubectl: Kubectl) {
    kubectl.ok("create role reader --verb=get,list --resource=pods,deployments.apps").await;
    kubectl.ok("create rolebinding readers --role=reader --user=ann --serviceaccount=default:bob").await;
    kubectl.shows("describe role reader", "deployments.apps").await;
    kubectl.shows("describe rolebinding readers", "ann").await;
    let name = &kubectl.namespace;
    kubectl.ok(&format!("create clusterrole {name} --verb=get --resource=nodes")).await;
    kubectl.ok(&format!("create clusterrolebinding {name} --clusterrole={name} --group=people")).await;
    kubectl.ok(&format!("delete clusterrole,clusterrolebinding {name}")).await;
    kubectl.refused("create role bad --verb=get --resource=nonsense", "doesn't have a resource type").await;
}

pub(super) async fn services(kubectl: Kubectl) {
    kubectl.ok("create service clusterip a --tcp=80:8080").await;
    kubectl.ok("create service nodeport b --tcp=80").await;
    kubectl.ok("create service externalname c --external-name=example.org").await;
    let out = kubectl.ok("get services").await;
    let kinds: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(kinds, ["ClusterIP", "NodePort", "ExternalName"]);
}

pub(super) async fn service_account_and_token(kubectl: Kubectl) {
    kubectl.is("create serviceaccount robot", "serviceaccount/robot created").await;
    let token = kubectl.ok("create token robot --duration=1h").await;
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
}

pub(super) async fn ingress_budget_and_priority(kubectl: Kubectl) {
    kubectl.ok("create ingress web --rule=example.org/*=web:80").await;
    kubectl.shows("get ingress web", "example.org").await;
    kubectl.ok("create poddisruptionbudget web --selector=app=web --min-available=1").await;
    kubectl.shows("get pdb web", "ALLOWED DISRUPTIONS").await;
    let name = &kubectl.namespace;
    kubectl.ok(&format!("create priorityclass {name} --value=1000 --description=high")).await;
    kubectl.shows("get priorityclasses", name).await;
    kubectl.ok(&format!("delete priorityclass {name}")).await;
}

pub(super) async fn generated_names(kubectl: Kubectl) {
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-}}";
    let said = kubectl.feed("create -f - -o name", manifest).await;
    assert!(
        said.starts_with("configmap/made-") && said.trim().len() == "configmap/made-".len() + 5,
        "{said}"
    );
}

pub(super) async fn expose(kubectl: Kubectl) {
    kubectl.ok("run web --image=nginx --port=80 --labels=app=web --env=A=B").await;
    kubectl.ok("expose pod web --port=8080 --target-port=80 --name=front").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    kubectl
        .is("get service front -o jsonpath={.spec.selector.app}/{.spec.ports[0].targetPort}", "web/80")
        .await;
    let ip = kubectl.ok("get pod web -o jsonpath={.status.podIP}").await;
    kubectl.serves("front", &ip).await;
    kubectl.shows("get endpointslices -l kubernetes.io/service-name=front", &ip).await;
}
