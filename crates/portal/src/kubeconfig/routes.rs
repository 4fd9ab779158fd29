//! Routes of kubeconfigs.

use super::handlers::{self, KubeconfigOffer, KubeconfigView, MadeKubeconfig, NewKubeconfigRequest};
use crate::{
    access::{Kind, Verb},
    page::{Page, PageQuery},
    route::{
        Method::{Delete, Get, Post},
        Route, Target,
    },
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Kubeconfig);
    vec![
        Route::at_once(Get, "/kubeconfig", "getKubeconfigOffer", (Verb::See, own), handlers::offer)
            .says("Which kubeconfigs one can have, and for what")
            .answers::<KubeconfigOffer>(),
        Route::new(Get, "/me/kubeconfigs", "listKubeconfigs", (Verb::See, own), handlers::list)
            .says("The own kubeconfigs, without what they prove by")
            .query::<PageQuery>()
            .answers::<Page<KubeconfigView>>(),
        Route::new(Post, "/me/kubeconfigs", "createKubeconfig", (Verb::Start, own), handlers::create)
            .says("Make a kubeconfig for a device; it is shown this once")
            .takes::<NewKubeconfigRequest>()
            .answers::<MadeKubeconfig>(),
        Route::new(
            Delete,
            "/kubeconfigs/{id}",
            "revokeKubeconfig",
            (Verb::Delete, Target::Kubeconfig),
            handlers::revoke,
        )
        .says("End a kubeconfig: whoever has it may nothing any more"),
    ]
}
