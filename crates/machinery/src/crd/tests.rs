use serde_json::json;

use super::*;

/// A small definition; tests change what they are about.
fn definition(schema: &Value) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
            }],
        },
    });
    default(&mut definition);
    definition
}

fn plain() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer", "default": 1, "minimum": 0},
            "image": {"type": "string"},
        }},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
    }})
}

fn complaints(definition: &Value) -> Vec<String> {
    match compile(definition) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_definition_becomes_what_a_server_needs() {
    let mut definition = definition(&plain());
    let version = &mut definition["spec"]["versions"][0];
    version["subresources"]["scale"] = json!({
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    });
    version["selectableFields"] = json!([{"jsonPath": ".spec.image"}]);
    version["additionalPrinterColumns"] =
        json!([{"name": "Image", "type": "string", "jsonPath": ".spec.image"}]);
    let compiled = compile(&definition).unwrap();
    assert_eq!(compiled.names.singular, "crontab");
    assert_eq!(compiled.names.list_kind, "CronTabList");
    assert_eq!(compiled.scope, Scope::Namespaced);
    let version = compiled.storage();
    assert!(version.served && version.status);

    let mut object = json!({
        "apiVersion": "stable.example.com/v1", "kind": "CronTab",
        "metadata": {"name": "a", "creationTimestamp": null, "typo": 1},
        "spec": {"image": "x", "unknown": {"a": 1}},
    });
    assert_eq!(version.decode(&mut object).unwrap(), ["metadata.typo", "spec.unknown"]);
    version.default(&mut object);
    assert_eq!(object["spec"], json!({"image": "x", "replicas": 1}));
    assert_eq!(object["metadata"], json!({"name": "a"}));
    assert!(version.validate(&object).is_empty());

    let scale = version.scale.as_ref().unwrap();
    assert!(scale.spec_replicas.set(&mut object, json!(-1)));
    let errors: Vec<String> = version.validate(&object).iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
            ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        ]
    );
    assert_eq!(version.selectable_fields[0].value(&object), "x");
    assert_eq!(version.columns[0].cell(&object, str::to_owned), json!("x"));
    let shape = version.merge_type();
    assert!(shape.field("metadata").and_then(|meta| meta.field("ownerReferences")).is_some());
}

#[test]
fn objects_must_say_what_they_are_and_metadata_must_be_readable() {
    let compiled = compile(&definition(&plain())).unwrap();
    let version = compiled.version("v1").unwrap();
    let errors: Vec<String> = version
        .validate(&json!({"apiVersion": "v1", "kind": "Pod"}))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        errors,
        [
            r#"kind: Invalid value: "Pod": must be CronTab"#,
            r#"apiVersion: Invalid value: "v1": must be stable.example.com/v1"#,
        ]
    );
    let error = version.decode(&mut json!({"metadata": {"labels": {"a": 1}}})).unwrap_err();
    assert_eq!(error.path, "metadata.labels.a");
}

#[test]
fn metadata_may_be_limited_in_its_names_only() {
    let mut schema = plain();
    schema["properties"]["metadata"] =
        json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}});
    let compiled = compile(&definition(&schema.clone())).unwrap();
    let object = json!({
        "apiVersion": "stable.example.com/v1", "kind": "CronTab",
        "metadata": {"name": "long", "labels": {"a": "b"}},
    });
    let errors = compiled.storage().validate(&object);
    assert_eq!(errors[0].to_string(), "metadata.name: Too long: may not be more than 3 bytes");

    schema["properties"]["metadata"]["properties"]["labels"] = json!({"type": "object"});
    let complaints = complaints(&definition(&schema));
    assert!(
        complaints[0].contains("must not specify anything other than name and generateName"),
        "{complaints:?}"
    );
}

#[test]
fn new_definitions_have_the_name_of_their_kind_and_a_group_of_their_own() {
    let mut wrong = definition(&json!({"type": "object"}));
    wrong["metadata"]["name"] = json!("x");
    wrong["spec"]["group"] = json!("things.k8s.io");
    let found: Vec<String> = validate_create(&wrong).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            r#"metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group"#,
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups need approval",
        ]
    );
    wrong["spec"]["group"] = json!("things.x-k8s.io");
    assert_eq!(validate_create(&wrong).len(), 1);
}

#[test]
fn stored_versions_are_versions() {
    let mut definition = definition(&json!({"type": "object"}));
    definition["status"] = json!({"storedVersions": []});
    assert_eq!(validate_stored_versions(&definition)[0].path, "status.storedVersions");
    definition["status"] = json!({"storedVersions": ["v1", "v0"]});
    let paths: Vec<String> =
        validate_stored_versions(&definition).into_iter().map(|error| error.path).collect();
    assert_eq!(paths, ["status.storedVersions[1]"]);
}

#[test]
fn definitions_are_refused_for_the_right_reason() {
    type Change = fn(&mut Value);
    let table: &[(Change, &str)] = &[
        (
            |d| d["spec"]["group"] = json!("example"),
            r#"spec.group: Invalid value: "example": should be a domain with at least one dot"#,
        ),
        (
            |d| d["spec"]["scope"] = json!("Galaxy"),
            r#"spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced""#,
        ),
        (|d| d["spec"]["names"]["plural"] = json!(""), "spec.names.plural: Required value"),
        (
            |d| d["spec"]["names"]["listKind"] = json!("CronTab"),
            r#"spec.names.listKind: Invalid value: "CronTab": kind and listKind may not be the same"#,
        ),
        (
            |d| d["spec"]["versions"][0]["storage"] = json!(false),
            "must have exactly one version marked as storage version",
        ),
        (|d| d["spec"]["versions"][0]["name"] = json!("1"), "spec.versions[0].name: Invalid value"),
        (
            |d| d["spec"]["versions"] = json!([d["spec"]["versions"][0], d["spec"]["versions"][0]]),
            "must contain unique version names",
        ),
        (
            |d| d["spec"]["preserveUnknownFields"] = json!(true),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
        ),
        (
            |d| d["spec"]["conversion"] = json!({"strategy": "Webhook"}),
            "conversion by webhook is not supported by this server",
        ),
        (
            |d| d["spec"]["versions"][0]["schema"] = json!(null),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            |d| d["spec"]["versions"][0]["deprecationWarning"] = json!("x"),
            "can only be set for deprecated versions",
        ),
        (
            |d| {
                d["spec"]["versions"][0]["subresources"]["scale"] =
                    json!({"specReplicasPath": ".status.x", "statusReplicasPath": ".status.x"});
            },
            "spec.subresources.scale.specReplicasPath: Invalid value: \".status.x\": should be a json path under .spec",
        ),
        (
            |d| {
                d["spec"]["versions"][0]["additionalPrinterColumns"] =
                    json!([{"name": "a", "type": "text", "jsonPath": ".a"}]);
            },
            "must be one of boolean,date,integer,number,string",
        ),
        (
            |d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec"}]),
            "must point to a field of type string, boolean or integer",
        ),
        (
            |d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".nope"}]),
            "does not refer to a valid field",
        ),
    ];
    for (change, want) in table {
        let mut definition = definition(&plain());
        change(&mut definition);
        let found = complaints(&definition);
        assert!(found.iter().any(|text| text.contains(want)), "wanted {want}, found {found:?}");
    }
}

/// A schema for the field `x` and one of the complaints about it, less the path that all of them share.
fn refused(table: &[(Value, &str)]) {
    for (rule, want) in table {
        let schema = json!({"type": "object", "properties": {"x": rule}});
        let found = complaints(&definition(&schema));
        let want = want.replace('~', "spec.validation.openAPIV3Schema.properties[x]");
        assert!(found.contains(&want), "{rule}\nwanted {want}\nfound {found:#?}");
    }
}

#[test]
fn schemas_must_be_structural() {
    refused(&[
        (json!({}), "~.type: Required value: must not be empty for specified object fields"),
        (json!({"type": "array"}), "~.items: Required value: must be specified"),
        (
            json!({"type": "array", "items": {}}),
            "~.items.type: Required value: must not be empty for specified array items",
        ),
        (
            json!({"type": "object", "anyOf": [{"type": "object"}]}),
            "~.anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "object", "allOf": [{"description": "d"}]}),
            "~.allOf[0].description: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "object", "not": {"default": 1}}),
            "~.not.default: Forbidden: must be undefined to be structural",
        ),
        (
            json!({"type": "string", "pattern": "(?=a)"}),
            "~.pattern: Invalid value: \"(?=a)\": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
            "~.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            json!({"type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            "~.type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            json!({"type": "string", "default": 5}),
            "~.default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
        ),
        (
            json!({"type": "object", "default": {"a": 1}}),
            "~.default: Invalid value: {\"a\":1}: must not have unknown fields",
        ),
    ]);
}

#[test]
fn conditions_at_the_root_speak_of_known_fields() {
    let schema = json!({"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]});
    let mut definition = definition(&schema);
    definition["spec"]["versions"][0]["subresources"] = json!(null);
    let path = "spec.validation.openAPIV3Schema";
    assert_eq!(
        complaints(&definition),
        [format!(
            "{path}.properties[a]: Required value: because it is defined in {path}.oneOf[0].properties[a]"
        )]
    );
}

#[test]
fn keywords_are_refused_where_they_mean_nothing() {
    refused(&[
        (
            json!({"type": "text"}),
            r#"~.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ),
        (json!({"type": "object", "$ref": "#/x"}), "~.$ref: Forbidden: $ref is not supported"),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            "~.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            "~.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "~.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
            "~.type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
        ),
        (
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
            "~.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}),
            "~.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            }),
            "~.items.properties[k].default: Required value: a property in x-kubernetes-list-map-keys must be required or have a default",
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
            "~.x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Because"}]}),
            r#"~.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
        ),
    ]);
}

#[test]
fn what_looks_odd_but_is_allowed() {
    for rule in [
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "x"}]}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "oneOf": [{"required": ["a"]}]}),
        json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}),
    ] {
        let schema = json!({"type": "object", "properties": {"x": rule.clone()}});
        assert_eq!(complaints(&definition(&schema)), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn embedded_objects_are_objects() {
    let compiled = compile(&definition(&json!({"type": "object", "properties": {
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }})))
    .unwrap();
    let version = compiled.storage();
    let mut object = json!({
        "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"},
        "template": {"apiVersion": "v1", "metadata": {"labels": {"-": "x"}, "typo": 1}, "anything": {"a": 1}},
    });
    assert_eq!(version.decode(&mut object).unwrap(), ["template.metadata.typo"]);
    assert_eq!(object["template"]["anything"], json!({"a": 1}));
    let errors: Vec<String> = version.validate(&object).iter().map(|error| error.path.clone()).collect();
    assert_eq!(errors, ["template.kind", "template.metadata.labels"]);
    object["template"]["metadata"]["name"] = json!(1);
    let error = version.decode(&mut object).unwrap_err().to_string();
    assert!(error.starts_with("template.metadata: Invalid value: {"), "{error}");
    assert!(
        error.ends_with("cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        "{error}"
    );
}

#[test]
fn names_are_fixed_once_they_are_served() {
    let old = definition(&plain());
    let mut new = old.clone();
    new["spec"]["scope"] = json!("Cluster");
    new["spec"]["names"]["plural"] = json!("others");
    let paths = |established| -> Vec<String> {
        validate_update(&new, &old, established).into_iter().map(|error| error.path).collect()
    };
    assert_eq!(paths(false), ["spec.names.plural"]);
    assert_eq!(paths(true), ["spec.names.plural", "spec.scope"]);
}

#[test]
fn rules_run_last_and_only_on_objects_they_can_make_sense_of() {
    let mut schema = plain();
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([{"rule": "self.replicas <= 5", "message": "at most five"}]);
    let compiled = compile(&definition(&schema)).unwrap();
    let object = |spec: Value| {
        json!({
            "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}, "spec": spec,
        })
    };
    let complaints = |spec: Value| -> Vec<String> {
        compiled.storage().validate(&object(spec)).iter().map(ToString::to_string).collect()
    };
    assert!(complaints(json!({"replicas": 5})).is_empty());
    assert_eq!(complaints(json!({"replicas": 6})), ["spec: Invalid value: at most five"]);
    let blocked = complaints(json!({"replicas": "6"}));
    assert!(
        blocked[1].starts_with("<nil>: Invalid value: null: some validation rules were not checked"),
        "{blocked:?}"
    );
    let unchanged =
        compiled.storage().validate_update(&object(json!({"replicas": 6})), &object(json!({"replicas": 6})));
    assert!(unchanged.is_empty(), "{unchanged:?}");
}

#[test]
fn rules_are_compiled_with_the_definition_and_bind_its_defaults() {
    refused(&[
        (
            json!({"type": "integer", "default": 9, "x-kubernetes-validations": [{"rule": "self <= 5", "message": "at most five"}]}),
            "~.default: Invalid value: 9: at most five",
        ),
        (
            json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.nope"}]}),
            r#"~.x-kubernetes-validations[0].rule: Invalid value: {"rule":"self.nope"}: compilation failed: undefined field 'nope'"#,
        ),
    ]);
}

#[test]
fn formats_that_mean_nothing_are_warned_about() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "telephone"},
        "b": {"type": "array", "items": {"type": "integer", "format": "int16"}},
        "c": {"type": "string", "format": "date-time", "default": "2024-01-02T03:04:05Z"},
    }});
    let compiled = compile(&definition(&schema)).unwrap();
    assert_eq!(compiled.warnings, [r#"unrecognized format "int16""#, r#"unrecognized format "telephone""#]);
}
