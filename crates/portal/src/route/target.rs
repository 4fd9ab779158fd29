//! What a route is about, and how it is found.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::Node;
use maar_api::v1alpha1::{AIJob, Account, Workspace};
use maar_records::{
    Key, KeyId, Kubeconfig, KubeconfigId, Session, SessionId, SshKey, SshKeyId, Template, TemplateId, User,
    UserId,
};
use serde_json::Value;

use crate::{
    access::{Kind, Object, Subject},
    error::ApiError,
    live::PodFacts,
    portal::Portal,
};

/// What a route is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// What everyone may have.
    Public,
    /// Things of the asker: himself, a list of what he may see. Lists look at each thing again.
    Asker(Kind),
    /// Things of the cluster.
    Cluster(Kind),
    /// Work that shall be made, in the namespace of the asker; the body says at this place who pays.
    New(Kind, &'static str),
    /// The workspace that `namespace` and `name` of the path name.
    Workspace,
    /// The job that they name.
    Job,
    /// The Pod that they name.
    Pod,
    /// The template that `id` names.
    Template,
    /// The account that `name` names.
    Account,
    /// The node that `name` names.
    Node,
    /// The user that `id` names.
    User,
    /// The session that `id` names.
    Session,
    /// The API key that `id` names.
    Key,
    /// The kubeconfig that `id` names.
    Kubeconfig,
    /// The SSH key that `id` names.
    SshKey,
}

/// What was found.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    Nothing,
    Workspace(Arc<Workspace>),
    Job(Arc<AIJob>),
    Pod(Arc<PodFacts>),
    Template(Box<Template>),
    Account(Arc<Account>),
    Node(Arc<Node>),
    User(Box<User>),
    Session(Box<Session>),
    Key(Box<Key>),
    Kubeconfig(Box<Kubeconfig>),
    SshKey(Box<SshKey>),
}

impl Target {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Public => Kind::Public,
            Self::Asker(kind) | Self::Cluster(kind) | Self::New(kind, _) => kind,
            Self::Workspace => Kind::Workspace,
            Self::Job => Kind::Job,
            Self::Pod => Kind::Pod,
            Self::Template => Kind::Template,
            Self::Account => Kind::Account,
            Self::Node => Kind::Node,
            Self::User => Kind::User,
            Self::Session => Kind::Session,
            Self::Key | Self::SshKey => Kind::Key,
            Self::Kubeconfig => Kind::Kubeconfig,
        }
    }

    /// What it is about when nothing has to be looked up.
    pub(crate) fn object(self, subject: &Subject, body: &Value) -> Object {
        let id = subject.person().map_or("", |person| person.id.as_str());
        match self {
            Self::New(kind, place) => {
                let namespace = subject.person().map_or("", |person| person.namespace.as_str());
                Object::work(kind, namespace, body.pointer(place).and_then(Value::as_str))
            }
            Self::Asker(kind) => Object::of_user(kind, id),
            other => Object::of_cluster(other.kind()),
        }
    }

    /// Finds what the path names, with what access to it is decided by.
    pub(super) async fn find(
        self,
        portal: &Portal,
        subject: &Subject,
        path: &BTreeMap<String, String>,
        body: &Value,
    ) -> Result<(Found, Object), ApiError> {
        let part = |name: &str| path.get(name).map_or("", String::as_str);
        // Word for word what is said of something that must not be known of.
        let missing = || ApiError::not_found(&format!("this {}", self.word()));
        match self {
            Self::Public | Self::Asker(_) | Self::Cluster(_) | Self::New(..) => {
                Ok((Found::Nothing, self.object(subject, body)))
            }
            Self::Workspace => {
                let found =
                    portal.live.workspaces.get(part("namespace"), part("name")).ok_or_else(missing)?;
                let object = crate::workspace::object_of(&found);
                Ok((Found::Workspace(found), object))
            }
            Self::Job => {
                let found = portal.live.jobs.get(part("namespace"), part("name")).ok_or_else(missing)?;
                let object = crate::job::object_of(&found);
                Ok((Found::Job(found), object))
            }
            Self::Pod => {
                let found = portal.live.pods.get(part("namespace"), part("name")).ok_or_else(missing)?;
                let object = crate::pod::object_of(&found);
                Ok((Found::Pod(found), object))
            }
            Self::Account => {
                let found = portal.live.accounts.get("", part("name")).ok_or_else(missing)?;
                Ok((Found::Account(found), Object::account(part("name"))))
            }
            Self::Node => {
                let found = portal.live.nodes.get("", part("name")).ok_or_else(missing)?;
                Ok((Found::Node(found), Object::of_cluster(Kind::Node)))
            }
            Self::User | Self::Session | Self::Key | Self::SshKey | Self::Template | Self::Kubeconfig => {
                self.find_record(portal, part("id")).await
            }
        }
    }

    async fn find_record(self, portal: &Portal, id: &str) -> Result<(Found, Object), ApiError> {
        let records = &portal.records;
        Ok(match self {
            Self::User => {
                let found = records.user(&UserId::new(id)).await?;
                (Found::User(Box::new(found)), Object::of_cluster(Kind::User))
            }
            Self::Template => {
                let found = records.template(&TemplateId::new(id)).await?;
                let object = crate::template::object_of(&found);
                (Found::Template(Box::new(found)), object)
            }
            Self::Session => {
                let found = records.session_by_id(&SessionId::new(id)).await?;
                let object = Object::of_user(Kind::Session, found.user.as_str());
                (Found::Session(Box::new(found)), object)
            }
            Self::Kubeconfig => {
                let found = records.kubeconfig(&KubeconfigId::new(id)).await?;
                let object = Object::of_user(Kind::Kubeconfig, found.user.as_str());
                (Found::Kubeconfig(Box::new(found)), object)
            }
            Self::SshKey => {
                let found = records.ssh_key(&SshKeyId::new(id)).await?;
                let object = Object::of_user(Kind::Key, found.user.as_str());
                (Found::SshKey(Box::new(found)), object)
            }
            _ => {
                let found = records.key_by_id(&KeyId::new(id)).await?;
                let object = Object::of_user(Kind::Key, found.user.as_str());
                (Found::Key(Box::new(found)), object)
            }
        })
    }

    /// What it is called in sentences and in the audit log.
    pub(crate) const fn word(self) -> &'static str {
        match self.kind() {
            Kind::Public | Kind::Own => "self",
            Kind::Workspace => "workspace",
            Kind::Job => "job",
            Kind::Pod => "pod",
            Kind::Volume => "volume",
            Kind::Template => "template",
            Kind::Node => "node",
            Kind::Account => "account",
            Kind::User => "user",
            Kind::Session => "session",
            Kind::Key => "key",
            Kind::Kubeconfig => "kubeconfig",
            Kind::Audit => "audit",
        }
    }
}
