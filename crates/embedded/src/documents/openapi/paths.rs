//! The paths of a resource and the calls on them.

use maar_machinery::builtin::{self, OpenApi};
use maar_machinery::crd;
use serde_json::{Map, Value};

use super::operation::{Content, Operation, PATCH, Parameter, Subject};
use crate::resource::{Resource, Subresource, TransientFact};

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

const fn query(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter { name, kind, description, in_path: false }
}

const fn in_path(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, kind: "string", description, in_path: true }
}

const DRY_RUN: Parameter =
    query("dryRun", "string", "With All everything is done except that nothing is stored.");

const WRITE: [Parameter; 3] = [
    DRY_RUN,
    query("fieldManager", "string", "Who the fields that this request sets belong to."),
    query(
        "fieldValidation",
        "string",
        "What becomes of unknown and duplicate fields: Ignore, Warn or Strict.",
    ),
];

const FORCE: Parameter = query("force", "boolean", "Whether apply takes over fields of other managers.");

const SELECT: [Parameter; 6] = [
    query("continue", "string", "Where the list goes on, as the page before it said."),
    query("fieldSelector", "string", "Only objects whose fields fit."),
    query("labelSelector", "string", "Only objects whose labels fit."),
    query("limit", "integer", "How many objects a page has at most."),
    query("resourceVersion", "string", "The version that the answer must not be older than, or must be."),
    query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
];

const WATCH: [Parameter; 4] = [
    query("allowWatchBookmarks", "boolean", "Whether a watch says how far it has come."),
    query("sendInitialEvents", "boolean", "Whether a watch begins with the objects that exist."),
    query("timeoutSeconds", "integer", "How long a list or watch may take."),
    query("watch", "boolean", "Whether changes follow, instead of a list."),
];

const DELETE: [Parameter; 3] = [
    DRY_RUN,
    query("gracePeriodSeconds", "integer", "How long the object may take to end."),
    query("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
];

const NAME: Parameter = in_path("name", "The name of the object.");
const NAMESPACE: Parameter = in_path("namespace", "The namespace of the object.");

/// Every path below one group version, by name.
pub(super) type Paths = Map<String, Value>;

/// The name of the definition of a resource's objects.
pub(super) fn definition_of(resource: &Resource) -> String {
    if resource.is_custom() {
        return crd::definition_name(&resource.group, &resource.version, &resource.kind);
    }
    builtin_definition(&resource.group, &resource.version, &resource.kind)
}

fn builtin_definition(group: &str, version: &str, kind: &str) -> String {
    builtin::find(group, version, kind)
        .and_then(builtin::definition_name)
        .map(|name| name.to_string())
        .unwrap_or_default()
}

/// Adds the paths of a resource that is stored.
pub(super) fn add_resource(paths: &mut Paths, resource: &Resource, openapi: OpenApi) {
    let writer = Writer { resource, definition: definition_of(resource), openapi };
    let root = root(&resource.group, &resource.version);
    let (collection, scope) = if resource.namespaced {
        (format!("{root}/namespaces/{{namespace}}/{}", resource.plural), vec![NAMESPACE])
    } else {
        (format!("{root}/{}", resource.plural), Vec::new())
    };
    if resource.namespaced {
        let everywhere = vec![writer.list("ForAllNamespaces")];
        writer.add(paths, format!("{root}/{}", resource.plural), &[], &everywhere);
    }
    writer.add(paths, collection.clone(), &scope, &writer.on_collection());
    let scope = [vec![NAME], scope].concat();
    let object = format!("{collection}/{{name}}");
    for subresource in &resource.subresources {
        let calls = writer.on_subresource(*subresource);
        writer.add(paths, format!("{object}/{}", subresource.name()), &scope, &calls);
    }
    writer.add(paths, object, &scope, &writer.on_object());
}

/// Adds the path of a question that is posted and answered.
pub(super) fn add_transient(paths: &mut Paths, fact: &TransientFact, openapi: OpenApi) {
    let kind = kind_of(fact.group, "v1", fact.kind);
    let definition = builtin_definition(fact.group, "v1", fact.kind);
    let (place, scope, word) = if fact.namespaced {
        ("/namespaces/{namespace}", vec![NAMESPACE], "Namespaced")
    } else {
        ("", Vec::new(), "")
    };
    let call = Operation {
        method: "post",
        action: "post",
        id: format!("create{}{word}{}", group_word(fact.group, "v1"), fact.kind),
        description: format!("create a {}", fact.kind),
        tag: tag(fact.group, "v1"),
        kind,
        parameters: WRITE.to_vec(),
        body: Some(definition.clone()),
        answer: Content::Object(definition),
    };
    let path = format!("{}{place}/{}", root(fact.group, "v1"), fact.plural);
    paths.insert(path, item(&scope, &[call], openapi));
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn item(scope: &[Parameter], calls: &[Operation], openapi: OpenApi) -> Value {
    let mut item: Map<String, Value> =
        calls.iter().map(|call| (call.method.to_owned(), call.render(openapi))).collect();
    if !scope.is_empty() {
        let parameters = scope.iter().map(|parameter| parameter.render(openapi)).collect();
        item.insert("parameters".to_owned(), Value::Array(parameters));
    }
    item.into()
}

/// `core_v1`, `rbacAuthorization_v1`.
fn tag(group: &str, version: &str) -> String {
    let word = group_word(group, "");
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    format!("{}_{version}", first.into_iter().chain(letters).collect::<String>())
}

/// `CoreV1`, `RbacAuthorizationV1`: how operation ids name a group version.
fn group_word(group: &str, version: &str) -> String {
    let group = if group.is_empty() { "core" } else { group.trim_end_matches(".k8s.io") };
    group.split(['.', '-']).chain([version]).map(capital).collect()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Words the calls of one resource.
struct Writer<'a> {
    resource: &'a Resource,
    definition: String,
    openapi: OpenApi,
}

impl Writer<'_> {
    fn add(&self, paths: &mut Paths, path: String, scope: &[Parameter], calls: &[Operation]) {
        paths.insert(path, item(scope, calls, self.openapi));
    }

    fn scope(&self) -> &'static str {
        if self.resource.namespaced { "Namespaced" } else { "" }
    }

    /// A call that answers with an object of the resource and takes nothing; others change what differs.
    fn call(&self, method: &'static str, verb: &str, suffix: &str, description: &str) -> Operation {
        let Resource { group, version, kind, .. } = self.resource;
        let scope = if suffix == "ForAllNamespaces" { "" } else { self.scope() };
        Operation {
            method,
            action: method,
            id: format!("{verb}{}{scope}{kind}{suffix}", group_word(group, version)),
            description: format!("{description} {kind}"),
            tag: tag(group, version),
            kind: Subject { is_custom: self.resource.is_custom(), ..kind_of(group, version, kind) },
            parameters: Vec::new(),
            body: None,
            answer: Content::Object(self.definition.clone()),
        }
    }

    fn list(&self, suffix: &str) -> Operation {
        let Resource { group, version, list_kind, .. } = self.resource;
        let name = if self.resource.is_custom() {
            crd::definition_name(group, version, list_kind)
        } else {
            format!("{}List", self.definition)
        };
        Operation {
            action: "list",
            parameters: [&SELECT[..], &WATCH].concat(),
            answer: Content::Object(name),
            ..self.call("get", "list", suffix, "list or watch objects of kind")
        }
    }

    fn on_collection(&self) -> Vec<Operation> {
        let create = Operation {
            parameters: WRITE.to_vec(),
            body: Some(self.definition.clone()),
            ..self.call("post", "create", "", "create a")
        };
        let Resource { group, version, kind, .. } = self.resource;
        let delete = Operation {
            action: "deletecollection",
            id: format!("delete{}Collection{}{kind}", group_word(group, version), self.scope()),
            parameters: [&SELECT[..], &DELETE].concat(),
            body: Some(DELETE_OPTIONS.into()),
            answer: Content::Object(STATUS.into()),
            ..self.call("delete", "delete", "", "delete every selected")
        };
        let mut calls = vec![self.list(""), create];
        // Namespaces go one by one.
        if !self.resource.is("namespaces") {
            calls.push(delete);
        }
        calls
    }

    fn on_object(&self) -> Vec<Operation> {
        let delete = Operation {
            parameters: DELETE.to_vec(),
            body: Some(DELETE_OPTIONS.into()),
            answer: Content::Object(STATUS.into()),
            ..self.call("delete", "delete", "", "delete a")
        };
        let mut calls = self.read_and_write("");
        calls.push(delete);
        calls
    }

    fn read_and_write(&self, part: &str) -> Vec<Operation> {
        let of = |what: &str| if part.is_empty() { what.to_owned() } else { format!("{what} {part} of the") };
        let suffix = capital(part);
        let replace = Operation {
            parameters: WRITE.to_vec(),
            body: Some(self.definition.clone()),
            ..self.call("put", "replace", &suffix, &of("replace the"))
        };
        let patch = Operation {
            parameters: [&WRITE[..], &[FORCE]].concat(),
            body: Some(PATCH.into()),
            ..self.call("patch", "patch", &suffix, &of("change parts of the"))
        };
        vec![self.call("get", "read", &suffix, &of("read the")), replace, patch]
    }

    fn on_subresource(&self, subresource: Subresource) -> Vec<Operation> {
        let suffix = capital(subresource.name());
        match subresource {
            Subresource::Status
            | Subresource::Approval
            | Subresource::EphemeralContainers
            | Subresource::Resize => self.read_and_write(subresource.name()),
            Subresource::Scale => {
                let calls = self.read_and_write("scale");
                calls.into_iter().map(|call| of_kind(call, "autoscaling", "Scale")).collect()
            }
            Subresource::Finalize => {
                self.read_and_write("finalize").into_iter().filter(|call| call.method == "put").collect()
            }
            Subresource::Binding => vec![of_kind(self.ask(&suffix), "", "Binding")],
            Subresource::Eviction => vec![of_kind(self.ask(&suffix), "policy", "Eviction")],
            Subresource::Token => vec![of_kind(self.ask(&suffix), "authentication.k8s.io", "TokenRequest")],
            Subresource::Log => {
                vec![Operation {
                    answer: Content::Text,
                    ..self.call("get", "read", &suffix, "read the log of the")
                }]
            }
            Subresource::Exec | Subresource::Attach | Subresource::PortForward | Subresource::Proxy => {
                ["get", "post"].map(|method| self.connect(method, subresource)).into()
            }
        }
    }

    fn ask(&self, suffix: &str) -> Operation {
        Operation {
            parameters: WRITE.to_vec(),
            body: Some(self.definition.clone()),
            ..self.call("post", "create", suffix, &format!("create {} of a", suffix.to_lowercase()))
        }
    }

    fn connect(&self, method: &'static str, subresource: Subresource) -> Operation {
        let suffix = capital(subresource.name());
        let description = format!("connect {} requests to {} of", method.to_uppercase(), subresource.name());
        let verb = if method == "get" { "connectGet" } else { "connectPost" };
        Operation {
            action: "connect",
            answer: Content::Text,
            ..self.call(method, verb, &suffix, &description)
        }
    }
}

fn kind_of(group: &str, version: &str, kind: &str) -> Subject {
    Subject { group: group.into(), version: version.into(), kind: kind.into(), is_custom: false }
}

/// The same call about objects of another built-in kind.
fn of_kind(mut call: Operation, group: &str, kind: &str) -> Operation {
    let definition = builtin_definition(group, "v1", kind);
    call.kind = Subject { is_custom: call.kind.is_custom, ..kind_of(group, "v1", kind) };
    if call.method != "patch" && call.body.is_some() {
        call.body = Some(definition.clone());
    }
    call.answer = Content::Object(definition);
    call
}
