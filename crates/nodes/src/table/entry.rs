//! One Pod in the table: what it is, how it lives, and what of that the API knows.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    ids,
    lifecycle::Life,
    pod::{Deletion, FailNow, Failing, Pod, PodObject, Template, Templates, behaviour},
};

const FAIL_NOW: &str = "sim.maar.io/fail-now";

/// See the module.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is to be written and what is being written are independent"
)]
pub(crate) struct PodEntry {
    pub(crate) pod: Pod,
    pub(crate) life: Life,
    /// What the template was read from.
    mark: Option<u64>,
    /// The annotation behind `pod.fail`.
    fail_text: Option<Box<str>>,
    /// Fingerprint of the status that the API shows, as far as we know.
    pub(super) shown: Option<u64>,
    /// Whether it shows the Pod as ready, if we wrote it.
    pub(super) shown_ready: Option<bool>,
    /// Fingerprint of the status it should show.
    pub(super) want: u64,
    /// Fingerprint of the status being written.
    pub(super) writing: u64,
    /// The object may be deleted.
    pub(super) remove: bool,
    /// It was.
    pub(super) removed: bool,
    pub(super) queued: bool,
    pub(super) in_flight: bool,
    pub(super) attempts: u8,
    /// Not before this after a failed write.
    pub(super) retry: Option<Timestamp>,
    /// The wake-up that counts.
    pub(super) wake: Option<Timestamp>,
    /// Number of the list it was last seen in.
    pub(super) seen: u32,
}

impl PodEntry {
    /// An entry for a Pod that is new to us; its life is still to be found out.
    pub(super) fn read(
        uid: &Arc<str>,
        node: &Arc<str>,
        object: &PodObject,
        templates: &mut Templates,
    ) -> Result<Self, String> {
        let template = templates.share(Template::read(object)?);
        let name = object.metadata.name.as_deref().ok_or("it has no name")?;
        let namespace = object.metadata.namespace.as_deref().ok_or("it has no namespace")?;
        let containers = template.containers.len();
        let pod = Pod {
            uid: uid.clone(),
            namespace: namespace.into(),
            name: name.into(),
            node: node.clone(),
            generation: object.metadata.generation,
            template,
            deletion: None,
            gates: Box::default(),
            fail: None,
        };
        let mut entry = Self {
            pod,
            life: Life::new(containers, Timestamp::UNIX_EPOCH),
            mark: mark(object),
            fail_text: None,
            shown: None,
            shown_ready: None,
            want: 0,
            writing: 0,
            remove: false,
            removed: false,
            queued: false,
            in_flight: false,
            attempts: 0,
            retry: None,
            wake: None,
            seen: 0,
        };
        entry.read_fail(object, Timestamp::UNIX_EPOCH);
        Ok(entry)
    }

    /// Takes over what may change in a Pod.
    pub(super) fn refresh(
        &mut self,
        object: &PodObject,
        templates: &mut Templates,
        now: Timestamp,
    ) -> Result<(), String> {
        let mark = mark(object);
        if mark.is_none() || mark != self.mark {
            let template = Template::read(object)?;
            if template.containers.len() != self.pod.template.containers.len() {
                return Err("its containers changed".into());
            }
            self.pod.template = templates.share(template);
            self.mark = mark;
        }
        let pod = &mut self.pod;
        pod.generation = object.metadata.generation;
        pod.deletion = object.metadata.deletion_timestamp.as_ref().map(|_| Deletion {
            grace: std::time::Duration::from_secs(
                object
                    .metadata
                    .deletion_grace_period_seconds
                    .and_then(|grace| u64::try_from(grace).ok())
                    .unwrap_or(0),
            ),
        });
        let gates = pod.template.readiness_gates.iter();
        pod.gates = gates.map(|gate| object.condition(gate).map(Into::into)).collect();
        self.read_fail(object, now);
        Ok(())
    }

    /// The annotation counts from when it was first seen with this text.
    fn read_fail(&mut self, object: &PodObject, now: Timestamp) {
        let text = object.annotation(FAIL_NOW);
        if text == self.fail_text.as_deref() {
            return;
        }
        self.fail_text = text.map(Into::into);
        self.pod.fail = text.and_then(|text| match FailNow::parse(text) {
            Ok(what) => {
                let runs = self.life.containers.iter().map(|container| container.restarts).collect();
                Some(Failing { what, at: now, runs })
            }
            Err(error) => {
                tracing::warn!(pod.name = self.pod.key(), "{error}");
                None
            }
        });
    }

    /// A failure that was asked for before we were there has happened already: it must not hit containers that
    /// started before the restart a second time.
    pub(super) fn fail_is_old(&mut self) {
        if let Some(failing) = &mut self.pod.fail {
            failing.runs = Box::default();
        }
    }

    /// Whether there is something to write.
    pub(super) fn is_dirty(&self) -> bool {
        self.shown != Some(self.want) || self.remove && !self.removed
    }
}

/// A number that changes when the template may have: with the generation of the specification, and with annotations,
/// which do not raise it. Nothing where there is no generation.
fn mark(object: &PodObject) -> Option<u64> {
    let generation = object.metadata.generation?.to_string();
    let annotations = object.metadata.annotations.iter().flatten();
    let own = annotations.filter(|(name, _)| name.starts_with(behaviour::PREFIX));
    let words: Vec<&str> = own.flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    Some(ids::hash(&[&[generation.as_str()], words.as_slice()].concat()))
}

/// A number that changes when the status does.
pub(super) fn fingerprint(status: &Value) -> u64 {
    ids::hash(&[&status.to_string()])
}
