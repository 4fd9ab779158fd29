//! Clean up before an object goes away.
//!
//! [`reconcile`] puts the finalizer on before the first apply, and takes it off only after clean-up succeeded; while
//! the object is being deleted only clean-up runs. It should be the only top-level action of a controller that uses it,
//! and clean-up must work even when apply never ran.
//!
//! Both writes are tied to the uid and version that were looked at. kube's own helper tests the list of finalizers
//! only, and so could take the finalizer off a namesake created after a stale read, whose clean-up never ran.

use std::{error::Error as StdError, future::Future, sync::Arc};

use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use maar_api::names::MANAGED_BY;
use serde_json::json;

use crate::{
    apply::Object,
    error::{Categorized, Category, Error},
    pool::Next,
};

/// A step of a reconcile with a finalizer failed.
#[derive(Debug, thiserror::Error)]
pub enum FinalizerError<E: StdError + 'static> {
    /// Apply failed.
    #[error(transparent)]
    Apply(E),
    /// Clean-up failed; the object stays until it succeeds.
    #[error("clean up")]
    CleanUp(#[source] E),
    /// The finalizer could not be put on or taken off.
    #[error(transparent)]
    Finalizer(#[from] Error),
}

impl<E: StdError + Categorized> Categorized for FinalizerError<E> {
    fn category(&self) -> Category {
        match self {
            Self::Apply(error) | Self::CleanUp(error) => error.category(),
            Self::Finalizer(error) => error.category(),
        }
    }
}

/// Applies, or cleans up if the object is being deleted. Both must bear being run several times.
pub async fn reconcile<K, E, Apply, CleanUp>(
    api: &Api<K>,
    finalizer: &str,
    object: Arc<K>,
    apply: impl FnOnce(Arc<K>) -> Apply,
    clean_up: impl FnOnce(Arc<K>) -> CleanUp,
) -> Result<Next, FinalizerError<E>>
where
    K: Object,
    E: StdError + 'static,
    Apply: Future<Output = Result<Next, E>>,
    CleanUp: Future<Output = Result<(), E>>,
{
    let present = object.finalizers().iter().any(|name| name == finalizer);
    let deleting = object.meta().deletion_timestamp.is_some();
    match (present, deleting) {
        (true, false) => apply(object).await.map_err(FinalizerError::Apply),
        (false, false) => {
            let mut finalizers = object.finalizers().to_vec();
            finalizers.push(finalizer.to_owned());
            let object = set_finalizers(api, "add", finalizer, &object, &finalizers).await?;
            apply(Arc::new(object)).await.map_err(FinalizerError::Apply)
        }
        (true, true) => {
            clean_up(Arc::clone(&object)).await.map_err(FinalizerError::CleanUp)?;
            let others: Vec<String> =
                object.finalizers().iter().filter(|name| *name != finalizer).cloned().collect();
            match set_finalizers(api, "remove", finalizer, &object, &others).await {
                // Gone is what was wanted.
                Err(error) if error.category() == Category::Missing => {}
                result => drop(result?),
            }
            Ok(Next::AwaitChange)
        }
        (false, true) => Ok(Next::AwaitChange),
    }
}

async fn set_finalizers<K: Object>(
    api: &Api<K>,
    verb: &str,
    finalizer: &str,
    seen: &K,
    finalizers: &[String],
) -> Result<K, Error> {
    let step = || format!("{verb} finalizer {finalizer} of {} {}", K::kind(&()), seen.name_any());
    let name =
        seen.meta().name.as_deref().ok_or_else(|| Error::Incomplete { step: step(), field: "name" })?;
    let body = json!({ "metadata": {
        "uid": seen.uid(),
        "resourceVersion": seen.resource_version(),
        "finalizers": finalizers,
    } });
    let params = PatchParams { field_manager: Some(MANAGED_BY.to_owned()), ..PatchParams::default() };
    let result = api.patch(name, &params, &Patch::Merge(&body)).await;
    result.map_err(|source| Error::in_step(step(), source))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::DeleteParams;
    use parking_lot::Mutex;

    use super::*;
    use crate::{
        apply::Writer,
        error::chain,
        test_cluster::{cluster, wired},
    };

    const FINALIZER: &str = "maar.io/test";

    #[derive(Debug, thiserror::Error)]
    #[error("the disk is busy")]
    struct Busy;

    impl Categorized for Busy {
        fn category(&self) -> Category {
            Category::Transient
        }
    }

    struct Story {
        api: Api<ConfigMap>,
        steps: Mutex<Vec<&'static str>>,
    }

    impl Story {
        async fn new() -> Self {
            let api: Api<ConfigMap> = Api::default_namespaced(wired(&cluster().await).0);
            let map =
                json!({ "metadata": { "name": "m", "namespace": "default", "finalizers": ["other.io/x"] } });
            Writer::new("t").ensure(&api, &serde_json::from_value(map).unwrap()).await.unwrap();
            Self { api, steps: Mutex::default() }
        }

        async fn read(&self) -> Arc<ConfigMap> {
            Arc::new(self.api.get("m").await.unwrap())
        }

        async fn reconcile(&self, object: Arc<ConfigMap>, clean: bool) -> Result<Next, FinalizerError<Busy>> {
            let apply = |object: Arc<ConfigMap>| async move {
                assert!(object.finalizers().iter().any(|name| name == FINALIZER));
                self.steps.lock().push("apply");
                Ok(Next::AwaitChange)
            };
            let clean_up = |_| async move {
                self.steps.lock().push("clean up");
                if clean { Ok(()) } else { Err(Busy) }
            };
            reconcile(&self.api, FINALIZER, object, apply, clean_up).await
        }
    }

    #[tokio::test]
    async fn the_finalizer_is_on_before_apply_and_off_after_clean_up() {
        let story = Story::new().await;
        story.reconcile(story.read().await, true).await.unwrap();
        assert_eq!(story.read().await.finalizers(), ["other.io/x", FINALIZER]);
        story.api.delete("m", &DeleteParams::default()).await.unwrap();
        let error = story.reconcile(story.read().await, false).await.unwrap_err();
        assert_eq!(
            (chain(&error).as_str(), error.category()),
            ("clean up: the disk is busy", Category::Transient)
        );
        assert_eq!(story.read().await.finalizers(), ["other.io/x", FINALIZER]);
        story.reconcile(story.read().await, true).await.unwrap();
        assert_eq!(story.read().await.finalizers(), ["other.io/x"]);
        // Others still hold it; there is nothing left to do here.
        story.reconcile(story.read().await, true).await.unwrap();
        assert_eq!(*story.steps.lock(), ["apply", "clean up", "clean up"]);
    }

    #[tokio::test]
    async fn a_stale_read_changes_nothing() {
        let story = Story::new().await;
        let stale = story.read().await;
        let touch = json!({ "data": { "by": "somebody else" } });
        story.api.patch("m", &PatchParams::default(), &Patch::Merge(&touch)).await.unwrap();
        let error = story.reconcile(stale, true).await.unwrap_err();
        assert_eq!(error.category(), Category::Conflict);
        assert!(story.steps.lock().is_empty());
        assert_eq!(story.read().await.finalizers(), ["other.io/x"]);
    }
}
