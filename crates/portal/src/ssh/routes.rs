//! Routes of SSH.

use super::{
    certificates::{self, CertificateView, NewCertificate},
    keys::{self, NewSshKeyRequest, SshKeyView, SshView},
};
use crate::{
    access::{Kind, Verb},
    page::{Page, PageQuery},
    route::{
        Method::{Delete, Get, Post},
        Route, Target,
    },
};

pub(crate) fn routes() -> Vec<Route> {
    let keys = Target::Asker(Kind::Key);
    // A program that may be inside workspaces by its key may also be by SSH.
    let workspaces = Target::Asker(Kind::Workspace);
    vec![
        Route::at_once(Get, "/ssh", "getSsh", (Verb::See, Target::Asker(Kind::Own)), keys::about)
            .says("Where SSH is, and how its host is known")
            .answers::<SshView>(),
        Route::new(Get, "/me/ssh-keys", "listSshKeys", (Verb::See, keys), keys::list)
            .says("The own public keys for SSH")
            .query::<PageQuery>()
            .answers::<Page<SshKeyView>>(),
        Route::new(Post, "/me/ssh-keys", "createSshKey", (Verb::Start, keys), keys::create)
            .says("Add a public key for SSH")
            .takes::<NewSshKeyRequest>()
            .answers::<SshKeyView>(),
        Route::new(Delete, "/ssh-keys/{id}", "revokeSshKey", (Verb::Delete, Target::SshKey), keys::revoke)
            .says("Take a public key away; connections by it end"),
        Route::new(
            Post,
            "/me/ssh-certificates",
            "createSshCertificate",
            (Verb::Change, workspaces),
            certificates::create,
        )
        .says("Sign a public key for a while, so that it need not be added")
        .takes::<NewCertificate>()
        .answers::<CertificateView>(),
    ]
}
