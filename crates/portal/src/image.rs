//! Images to choose from: those an administrator recommends, and those the asker has used.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{Kind, Verb},
    error::ApiError,
    route::{Answer, Call, Method::Get, Route, Target},
    workspace::place,
};

/// So many that were used are shown.
const USED: usize = 20;

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Workspace);
    vec![
        Route::at_once(Get, "/images", "listImages", (Verb::See, own), list)
            .says("Images that are recommended here, then those the asker has used lately")
            .answers::<Images>(),
    ]
}

/// Images to choose from.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Images {
    items: Vec<ImageView>,
}

/// An image.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageView {
    image: String,
    /// What the administrator calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let (namespace, live) = (&call.person()?.namespace, &call.portal.live);
    let mut workspaces = live.workspaces.list(Some(namespace));
    workspaces.sort_by_cached_key(|one| place(&**one));
    let mut jobs = live.jobs.list(Some(namespace));
    jobs.sort_by_cached_key(|one| place(&**one));
    let of_jobs = jobs.iter().flat_map(|job| &job.spec.tasks).filter_map(|task| task.template.spec.as_ref());
    let of_jobs =
        of_jobs.flat_map(|spec| &spec.containers).filter_map(|container| container.image.as_deref());
    let used = workspaces.iter().map(|one| one.spec.image.as_str()).chain(of_jobs);
    Answer::json(&Images { items: choose(&call.portal.settings.images, used) })
}

/// Each once: those that are recommended, then those that were used, the last first.
fn choose<'a>(recommended: &[(String, String)], used: impl Iterator<Item = &'a str>) -> Vec<ImageView> {
    let mut items: Vec<ImageView> = recommended
        .iter()
        .map(|(image, title)| ImageView { image: image.clone(), title: Some(title.clone()) })
        .collect();
    let mut known: BTreeSet<String> = items.iter().map(|item| item.image.clone()).collect();
    let used = used.filter(|image| known.insert((*image).to_owned())).take(USED);
    items.extend(used.map(|image| ImageView { image: image.to_owned(), title: None }));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_image_is_offered_once_and_recommended_ones_first() {
        let recommended = [("torch:2".to_owned(), "PyTorch".to_owned())];
        let made = choose(&recommended, ["own:1", "torch:2", "own:1", "own:2"].into_iter());
        let words: Vec<&str> = made.iter().map(|item| item.image.as_str()).collect();
        assert_eq!(words, ["torch:2", "own:1", "own:2"]);
        assert_eq!(made[0].title.as_deref(), Some("PyTorch"));
        let many: Vec<String> = (0..50).map(|number| format!("a:{number}")).collect();
        assert_eq!(choose(&[], many.iter().map(String::as_str)).len(), USED);
    }
}
