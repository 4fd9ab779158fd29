//! An explanation in words.

use std::fmt;

use super::{Amount, Chance, Explanation, LimitReached, Outlook, Position, State, count, of_nodes, plural};

impl Explanation {
    /// One sentence, for a condition or an event.
    pub fn summary(&self) -> String {
        let mut text = self.state.to_string();
        if let (State::NoRoom { .. } | State::NeverFits { .. }, Some(nodes)) = (&self.state, &self.nodes) {
            let removed = nodes.removed.iter().map(|one| (one.nodes, one.why.as_str()));
            if nodes.total == 0 {
                text = format!("{text}: there are no nodes");
            } else if !nodes.removed.is_empty() {
                text = format!("{text}: {}", of_nodes(nodes.total, removed));
            }
        }
        match self.deadline.map(|outlook| outlook.chance) {
            Some(Chance::Missed) => text.push_str("; it will not start before its deadline"),
            Some(Chance::CutShort) => {
                text.push_str("; its deadline comes before its longest run is over, and stops it then");
            }
            Some(Chance::Kept | Chance::Unknown) | None => {}
        }
        text
    }

    /// All of it, in a few lines, with times counted from `now`.
    pub fn lines(&self, now: i64) -> Vec<String> {
        let mut lines = vec![format!("{} on account {}: {}", self.group, self.account, self.summary())];
        if let Some(queue) = &self.queue {
            lines.push(queue.to_string());
        }
        for ending in &self.must_end {
            let pods = count(ending.pods, "Pod");
            let when = match ending.ends {
                Some(ends) => format!("ends in at most {}", span(ends - now)),
                None => "does not say when it ends".to_owned(),
            };
            lines.push(format!("waits for {} ({pods}), which {when}", ending.name));
        }
        match self.start {
            Some(start) => lines.push(format!("starts in about {}", span(start - now))),
            None if self.queue.is_some() => lines.push("nobody can say when it will start".to_owned()),
            None => {}
        }
        if let Some(Outlook { at, chance }) = self.deadline {
            let outlook = match chance {
                Chance::Unknown => "whether it can be kept nobody can say",
                Chance::Kept => "it will be kept",
                Chance::CutShort | Chance::Missed => "give it a later one if it must run whole",
            };
            lines.push(format!("its deadline is in {}: {outlook}", span(at - now)));
        }
        if self.reserved {
            lines.push("nodes are held for it".to_owned());
        }
        lines
    }
}

/// A span of time, roughly.
fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

impl fmt::Display for State {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placed { pods: 1 } => write!(to, "it has a place"),
            Self::Placed { pods } => write!(to, "all of its {pods} Pods have places"),
            Self::Suspended => write!(to, "it is suspended"),
            Self::Unknown => write!(to, "the job or PodGroup that its Pods name does not exist"),
            Self::WaitsForPods { need: 1, task, .. } => {
                let of_task = of_task(task.as_deref());
                write!(to, "the Pod{of_task} it needs to start is not there, or must not be placed yet")
            }
            Self::WaitsForPods { have, need, task } => {
                let (are, of_task) = (plural(*have, "is", "are"), of_task(task.as_deref()));
                write!(
                    to,
                    "{have} of the {need} Pods{of_task} it needs to start {are} there and may be placed"
                )
            }
            Self::Limited { limit } => limit.fmt(to),
            Self::NoRoom { pods: 1, .. } => write!(to, "no node has room for it"),
            Self::NoRoom { pods, fit: None } => {
                write!(to, "there is no room for all of the {pods} Pods that start together")
            }
            Self::NoRoom { pods, fit: Some(fit) } => {
                write!(to, "there is room for {fit} of the {pods} Pods that start together")
            }
            Self::NeverFits { pods: 1 } => write!(to, "no node would have room for it even if it were empty"),
            Self::NeverFits { pods } => {
                write!(to, "the nodes would not have room for its {pods} Pods even if they were empty")
            }
            Self::MakingRoom { leaving } => {
                let pods = count(*leaving, "Pod");
                let (were, have) = (plural(*leaving, "was", "were"), plural(*leaving, "has", "have"));
                write!(to, "it has places, and starts when {pods} that {were} asked to go {have} stopped")
            }
            Self::TooLate => write!(to, "its deadline has passed"),
            Self::Next => write!(to, "it can start"),
        }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount => write!(to, "its account does not exist"),
            Self::Capability { account, amount } => {
                write!(to, "account {account} may have {}", at_most(amount))
            }
            Self::Member { account, user, amount } if user.is_empty() => {
                write!(to, "work that names no user may have {} on account {account}", at_most(amount))
            }
            Self::Member { account, user, amount } => {
                write!(to, "{user} may have {} on account {account}", at_most(amount))
            }
            Self::Namespace { namespace, amount } => {
                write!(to, "namespace {namespace} may have {}", at_most(amount))
            }
            Self::KeptForOthers { amount } => {
                let Amount { resource, used, asked, cap } = amount;
                let is = |amount: &str| if amount == "1" { "is" } else { "are" };
                let them = if cap == "1" { "that" } else { "them" };
                let (cap_is, used_is) = (is(cap), if cap == "1" { "is" } else { is(used) });
                write!(
                    to,
                    "{cap} {resource} {cap_is} free, {used} of {them} {used_is} guaranteed to other accounts, and it \
                     asks for {asked}"
                )
            }
        }
    }
}

fn of_task(task: Option<&str>) -> String {
    task.map(|task| format!(" of task {task}")).unwrap_or_default()
}

fn at_most(amount: &Amount) -> String {
    let Amount { resource, used, asked, cap } = amount;
    format!("at most {cap} {resource}, has {used}, and this asks for {asked}")
}

impl fmt::Display for Position {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ahead {
            0 => write!(to, "first in the queue of its account")?,
            1 => write!(to, "1 is ahead of it in its account: {}", self.first.join(", "))?,
            ahead => {
                write!(to, "{ahead} are ahead of it in its account: {}", self.first.join(", "))?;
                if ahead > self.first.len() {
                    write!(to, ", …")?;
                }
            }
        }
        write!(to, "; the account has {:.0} % of its part", self.share * 100.0)?;
        if !self.accounts.is_empty() {
            write!(to, ", and these have less: {}", self.accounts.join(", "))?;
        }
        Ok(())
    }
}
