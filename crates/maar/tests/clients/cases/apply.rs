//! `kubectl apply` in its ways, and what belongs to it.

use crate::kubectl::Kubectl;

fn web(replicas: &str, image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{app: web}}}}
spec:
  {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - {{name: main, image: '{image}'}}
{more}"
    )
}

pub(super) async fn three_way_merge(kubectl: Kubectl) {
    let side = "      - {name: side, image: side}\n";
    let out = kubectl.apply(&web("replicas: 1", "a:1", side)).await;
    assert_eq!(out.trim(), "deployment.apps/web created");
    let out = kubectl.apply(&web("replicas: 1", "a:1", side)).await;
    assert_eq!(out.trim(), "deployment.apps/web unchanged");
    // Somebody else scales it; whoever applies without replicas leaves that alone and takes the side car away.
    kubectl.ok("scale deployment web --replicas=3").await;
    kubectl.ok("set env deployment/web -c main ADDED=yes").await;
    let out = kubectl.apply(&web("replicas: 3", "a:2", "")).await;
    assert_eq!(out.trim(), "deployment.apps/web configured");
    let containers = "get deployment web -o jsonpath={.spec.template.spec.containers[*].name}";
    kubectl.is(containers, "main").await;
    let facts = "{.spec.replicas} {.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[0].name}";
    kubectl.is(&format!("get deployment web -o jsonpath='{facts}'"), "3 a:2 ADDED").await;
}

pub(super) async fn server_side(kubectl: Kubectl) {
    let out = kubectl.feed("apply --server-side -f -", &web("replicas: 2", "a:1", "")).await;
    assert_eq!(out.trim(), "deployment.apps/web serverside-applied");
    kubectl.is("get deployment web -o jsonpath={.metadata.managedFields[0].operation}", "Apply").await;
    kubectl.shows("get deployment web --show-managed-fields -o yaml", "f:replicas").await;
    kubectl.feed("apply --server-side -f -", &web("", "a:1", "")).await;
    kubectl.is("get deployment web -o jsonpath={.spec.replicas}", "1").await;
    // An object that was applied on the client before is taken over without conflicts.
    kubectl.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {a: '1'}}").await;
    let newer = "{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {a: '2'}}";
    kubectl.feed("apply --server-side -f -", newer).await;
    kubectl.is("get configmap old -o jsonpath={.data.a}", "2").await;
}

pub(super) async fn conflicts_and_force(kubectl: Kubectl) {
    let value = |value: u8| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{a: '{value}'}}}}")
    };
    kubectl.feed("apply --server-side --field-manager=one -f -", &value(1)).await;
    let complaint = kubectl.fails_on("apply --server-side --field-manager=two -f -", &value(2)).await;
    assert!(complaint.contains("conflict with \"one\": .data.a"), "{complaint}");
    kubectl.feed("apply --server-side --field-manager=two --force-conflicts -f -", &value(2)).await;
    kubectl.is("get configmap c -o jsonpath={.data.a}", "2").await;
}

pub(super) async fn prune(kubectl: Kubectl) {
    let map = |name: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{set: x}}}}}}\n---\n")
    };
    kubectl.apply(&(map("a") + &map("b"))).await;
    let out =
        kubectl.feed("apply --prune -l set=x --prune-allowlist=core/v1/ConfigMap -f -", &map("a")).await;
    assert!(out.contains("configmap/b pruned"), "{out}");
    kubectl.is("get configmap -l set=x -o name", "configmap/a").await;
}

pub(super) async fn diff(kubectl: Kubectl) {
    kubectl.write("web.yaml", &web("replicas: 1", "a:1", ""));
    kubectl.ok("apply -f web.yaml").await;
    kubectl.is("diff -f web.yaml", "").await;
    kubectl.write("web.yaml", &web("replicas: 1", "a:2", ""));
    let said = kubectl.run("diff -f web.yaml").await;
    assert!(!said.success, "a difference is exit code 1");
    assert!(said.out.contains("-      - image: a:1") && said.out.contains("+      - image: a:2"), "{said:?}");
    let said = kubectl.run("diff --server-side --force-conflicts -f web.yaml").await;
    assert!(said.out.contains("+      - image: a:2"), "{said:?}");
    kubectl.is("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "a:1").await;
}

pub(super) async fn edit(kubectl: Kubectl) {
    kubectl.ok("create configmap a --from-literal=key=before").await;
    let editor = [("KUBE_EDITOR", "sed -i s/before/after/")];
    let said = kubectl.run_with(&editor, "edit configmap a").await;
    assert!(said.success && said.out.contains("configmap/a edited"), "{said:?}");
    kubectl.is("get configmap a -o jsonpath={.data.key}", "after").await;
    let said = kubectl.run_with(&[("KUBE_EDITOR", "true")], "edit configmap a").await;
    assert!(said.err.contains("no changes made") || said.out.contains("no changes made"), "{said:?}");
}

pub(super) async fn kustomize(kubectl: Kubectl) {
    kubectl.write("kustomization.yaml", "namePrefix: my-\nconfigMapGenerator: [{name: a, literals: [x=y], options: {disableNameSuffixHash: true}}]\n");
    kubectl.is("apply -k .", "configmap/my-a created").await;
    kubectl.is("get configmap my-a -o jsonpath={.data.x}", "y").await;
}

pub(super) async fn strict_validation(kubectl: Kubectl) {
    let bad = web("replica: 1", "a:1", "");
    let complaint = kubectl.fails_on("apply --validate=strict -f -", &bad).await;
    assert!(complaint.contains("unknown field \"spec.replica\""), "{complaint}");
    let complaint = kubectl.fails_on("apply --server-side --validate=strict -f -", &bad).await;
    assert!(complaint.contains("spec.replica"), "{complaint}");
    let wrong = web("replicas: many", "a:1", "");
    let complaint = kubectl.fails_on("apply -f -", &wrong).await;
    assert!(
        complaint.contains("cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas"),
        "{complaint}"
    );
}

/// A definition with a schema, a version beside it, columns and a scale.
pub(super) fn definition(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}, scale: {{specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}}}
    additionalPrinterColumns: [{{name: Size, type: integer, jsonPath: .spec.size}}]
    schema: &schema
      openAPIV3Schema:
        type: object
        description: A widget as people know them.
        properties:
          spec:
            type: object
            description: What the widget shall be.
            properties:
              size: {{type: integer, description: How wide it is., minimum: 1}}
              replicas: {{type: integer}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {{type: object, required: [name], properties: {{name: {{type: string}}, color: {{type: string}}}}}}
          status: {{type: object, properties: {{replicas: {{type: integer}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: *schema
"
    )
}

pub(super) async fn custom_resources(kubectl: Kubectl) {
    let group = format!("{}.example.org", kubectl.namespace);
    kubectl.apply(&definition(&group)).await;
    kubectl.ok(&format!("wait --for=condition=Established crd/widgets.{group}")).await;
    let widget = |spec: &str| {
        format!("{{apiVersion: {group}/v1, kind: Widget, metadata: {{name: w}}, spec: {{{spec}}}}}")
    };
    kubectl.apply(&widget("size: 2, parts: [{name: a, color: red}, {name: b}]")).await;
    kubectl.apply(&widget("size: 3, parts: [{name: a, color: blue}]")).await;
    kubectl
        .is(
            &format!("get widgets.{group} w -o jsonpath={{.spec}}"),
            r#"{"parts":[{"color":"blue","name":"a"}],"size":3}"#,
        )
        .await;
    let row = kubectl.ok(&format!("get wd.v1.{group} --no-headers")).await;
    assert_eq!(row.split_whitespace().take(2).collect::<Vec<_>>(), ["w", "3"]);
    kubectl.ok(&format!("scale widgets.{group}/w --replicas=4")).await;
    let complaint = kubectl.fails_on("apply --validate=strict -f -", &widget("size: 3, sise: 4")).await;
    assert!(complaint.contains("unknown field \"spec.sise\""), "{complaint}");
    let complaint = kubectl.fails_on("apply -f -", &widget("size: 0")).await;
    assert!(complaint.contains("should be greater than or equal to 1"), "{complaint}");
    kubectl.feed("apply --server-side --force-conflicts -f -", &widget("size: 5")).await;
    kubectl.ok(&format!("delete crd widgets.{group}")).await;
}

pub(super) async fn replace(kubectl: Kubectl) {
    kubectl.ok("create configmap a --from-literal=k=1").await;
    let newer = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: '2'}}";
    assert_eq!(kubectl.feed("replace -f -", newer).await.trim(), "configmap/a replaced");
    kubectl.is("get configmap a -o jsonpath={.data.k}", "2").await;
    let uid = kubectl.ok("get configmap a -o jsonpath={.metadata.uid}").await;
    kubectl.feed("replace --force -f -", newer).await;
    assert_ne!(kubectl.ok("get configmap a -o jsonpath={.metadata.uid}").await, uid);
}

pub(super) async fn dry_run(kubectl: Kubectl) {
    kubectl.shows("create deployment web --image=a --dry-run=client -o yaml", "kind: Deployment").await;
    let uid =
        kubectl.ok("create deployment web --image=a --dry-run=server -o jsonpath={.metadata.uid}").await;
    assert!(!uid.is_empty(), "a dry run on the server goes through all of it");
    kubectl.refused("get deployment web", "(NotFound)").await;
    let out = kubectl.feed("apply --dry-run=server -f -", &web("replicas: 1", "a:1", "")).await;
    assert_eq!(out.trim(), "deployment.apps/web created (server dry run)");
}

pub(super) async fn last_applied(kubectl: Kubectl) {
    kubectl.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}").await;
    kubectl.shows("apply view-last-applied configmap/a", "k: v").await;
}
