//! Templates and preferences.

use maar_records::{Error, Page, Records, Template, TemplateFilter, TemplateId, TemplateText, UserId};
use serde_json::{Map, json};

use crate::support::{World, at, user};

fn text(name: &str, account: Option<&str>) -> TemplateText {
    TemplateText {
        account: account.map(str::to_owned),
        name: name.to_owned(),
        description: String::new(),
        body: json!({"image": name, "gpus": 1}),
    }
}

async fn template(records: &Records, owner: &UserId, name: &str, account: Option<&str>) -> TemplateId {
    let id = TemplateId::new(format!("{owner}-{name}"));
    records.create_template(&id, owner, "workspace", &text(name, account), at(0)).await.unwrap();
    id
}

fn names(items: Vec<Template>) -> Vec<String> {
    let mut names: Vec<_> = items.into_iter().map(|template| template.name).collect();
    names.sort();
    names
}

on_both!(a_template_is_saved_changed_and_removed, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await.id;
    let id = template(records, &alice, "torch", None).await;
    let saved = records.template(&id).await.unwrap();
    assert_eq!((saved.body, saved.account, saved.updated_at), (text("torch", None).body, None, at(0)));
    records.update_template(&id, &text("jax", Some("physics")), at(5)).await.unwrap();
    let saved = records.template(&id).await.unwrap();
    assert_eq!((saved.name.as_str(), saved.account.as_deref()), ("jax", Some("physics")));
    assert_eq!((saved.created_at, saved.updated_at), (at(0), at(5)));
    records.delete_template(&id).await.unwrap();
    records.delete_template(&id).await.unwrap();
    for error in [
        records.template(&id).await.unwrap_err(),
        records.update_template(&id, &text("x", None), at(6)).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::NotFound { what: "template" }), "{error}");
    }
});

on_both!(a_name_is_taken_once_by_one_owner_and_kind, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await.id, user(records, "bob").await.id);
    template(records, &alice, "torch", None).await;
    template(records, &bob, "torch", None).await;
    let other = template(records, &alice, "jax", None).await;
    let id = TemplateId::new("again");
    let text = text("torch", None);
    records.create_template(&id, &alice, "job", &text, at(0)).await.unwrap();
    for error in [
        records.create_template(&TemplateId::new("x"), &alice, "workspace", &text, at(0)).await.unwrap_err(),
        records.update_template(&other, &text, at(0)).await.unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Conflict { field } if field == "name"), "{error}");
    }
});

on_both!(templates_are_seen_by_owner_and_account_and_nobody_else, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await.id, user(records, "bob").await.id);
    template(records, &alice, "private", None).await;
    template(records, &alice, "shared", Some("physics")).await;
    template(records, &bob, "bobs", Some("biology")).await;
    let seen = async |owner: Option<&UserId>, accounts: &[&str]| {
        let accounts = accounts.iter().map(ToString::to_string).collect();
        let filter = TemplateFilter { owner: owner.cloned(), accounts, kind: Some("workspace".to_owned()) };
        names(records.templates(&filter, &Page::first(10).unwrap()).await.unwrap().items)
    };
    assert_eq!(seen(Some(&alice), &["biology"]).await, ["bobs", "private", "shared"]);
    assert_eq!(seen(Some(&bob), &["physics", "biology"]).await, ["bobs", "shared"]);
    assert_eq!(seen(Some(&bob), &[]).await, ["bobs"]);
    assert!(seen(None, &[]).await.is_empty());
    let jobs =
        TemplateFilter { owner: Some(alice), kind: Some("job".to_owned()), ..TemplateFilter::default() };
    assert!(records.templates(&jobs, &Page::first(10).unwrap()).await.unwrap().items.is_empty());
});

on_both!(a_template_has_bounds, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await.id;
    let id = TemplateId::new("x");
    let huge = TemplateText { body: json!("x".repeat(300_000)), ..text("a", None) };
    for (text, want) in [(huge, "body"), (text("", None), "name"), (text("a", Some("")), "account")] {
        let error = records.create_template(&id, &alice, "job", &text, at(0)).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid { field, .. } if *field == want), "{error}");
    }
});

on_both!(preferences_are_empty_until_they_are_set, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await.id;
    assert_eq!(records.preferences(&alice).await.unwrap(), Map::new());
    for theme in ["dark", "light"] {
        let body = Map::from_iter([("theme".to_owned(), json!(theme))]);
        records.set_preferences(&alice, &body, at(1)).await.unwrap();
        assert_eq!(records.preferences(&alice).await.unwrap(), body);
    }
    let huge = Map::from_iter([("x".to_owned(), json!("x".repeat(70_000)))]);
    let error = records.set_preferences(&alice, &huge, at(1)).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { field: "preferences", .. }), "{error}");
    let error = records.set_preferences(&UserId::new("x"), &Map::new(), at(1)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "user" }), "{error}");
});
