//! The flags every role has, defined once.

use std::{net::SocketAddr, time::Duration};

use clap::{ArgAction, Args};

use crate::{
    backoff::Dice,
    lease::Timing,
    role::{Election, RoleConfig},
    telemetry::{self, LogFormat, LogLevel, TelemetryError},
};

/// Flags of every process of Maar.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Every role")]
pub struct RuntimeArgs {
    /// Where /metrics is served
    #[arg(long, env = "MAAR_METRICS_ADDRESS", hide_env_values = true, default_value = "0.0.0.0:8080")]
    pub metrics_address: SocketAddr,
    /// Where /healthz, /readyz and /log-level are served
    #[arg(long, env = "MAAR_HEALTH_ADDRESS", hide_env_values = true, default_value = "0.0.0.0:8081")]
    pub health_address: SocketAddr,
    /// Logs.
    #[command(flatten)]
    pub log: LogArgs,
    /// How many seconds running work has to end after SIGTERM
    #[arg(long, env = "MAAR_DRAIN_SECONDS", hide_env_values = true, default_value = "20", value_parser = seconds)]
    pub drain_seconds: Duration,
    /// Elect a leader among the processes of a role
    #[arg(long, env = "MAAR_LEADER_ELECTION", hide_env_values = true, default_value = "true", action = ArgAction::Set)]
    pub leader_election: bool,
    /// Namespace of the Leases
    #[arg(long, env = "MAAR_LEASE_NAMESPACE", hide_env_values = true, default_value = "maar-system")]
    pub lease_namespace: String,
    /// After how many seconds without renewal another process may lead
    #[arg(long, env = "MAAR_LEASE_SECONDS", hide_env_values = true, default_value = "15", value_parser = seconds)]
    pub lease_seconds: Duration,
    /// After how many seconds without renewal a leader stops
    #[arg(long, env = "MAAR_RENEW_SECONDS", hide_env_values = true, default_value = "10", value_parser = seconds)]
    pub renew_seconds: Duration,
    /// Every how many seconds the lease is renewed or looked at
    #[arg(long, env = "MAAR_RETRY_SECONDS", hide_env_values = true, default_value = "2", value_parser = seconds)]
    pub retry_seconds: Duration,
    /// Name of this process; a random part is added, so that no two are alike
    #[arg(long, env = "POD_NAME", hide_env_values = true, default_value = "maar")]
    pub process_name: String,
}

/// Flags of everything that logs.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// How log lines look
    #[arg(long, env = "MAAR_LOG_FORMAT", hide_env_values = true, default_value = "text")]
    pub log_format: LogFormat,
    /// error, warn, info, debug or trace, or directives such as info,kube=debug
    #[arg(long, env = "MAAR_LOG_LEVEL", hide_env_values = true, default_value = "info")]
    pub log_level: String,
}

impl LogArgs {
    /// Sets up logging for the whole process.
    pub fn install(&self) -> Result<LogLevel, TelemetryError> {
        telemetry::install(self.log_format, &self.log_level)
    }
}

impl RuntimeArgs {
    /// What a role needs of it.
    pub fn role_config(&self, dice: &Dice) -> RoleConfig {
        let timing = Timing {
            lease_duration: self.lease_seconds,
            renew_deadline: self.renew_seconds,
            retry_period: self.retry_seconds,
            ..Timing::default()
        };
        let election = Election { namespace: self.lease_namespace.clone(), timing };
        RoleConfig {
            identity: format!("{}_{:016x}", self.process_name, dice.number()),
            election: self.leader_election.then_some(election),
            drain: self.drain_seconds,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, such as 15 or 0.5".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        runtime: RuntimeArgs,
    }

    #[test]
    fn the_defaults_make_a_working_election() {
        let arguments = Command::try_parse_from(["maar"]).unwrap().runtime;
        let config = arguments.role_config(&Dice::seeded(1));
        let election = config.election.unwrap();
        assert_eq!(election.timing, Timing::default());
        election.timing.validate().unwrap();
        assert_ne!(config.identity, arguments.role_config(&Dice::seeded(2)).identity);
    }

    #[test]
    fn election_can_be_turned_off_and_nonsense_is_refused() {
        let arguments = Command::try_parse_from(["maar", "--leader-election", "false"]).unwrap().runtime;
        assert!(arguments.role_config(&Dice::seeded(1)).election.is_none());
        for wrong in [["--lease-seconds", "soon"], ["--lease-seconds", "-1"], ["--metrics-address", "8080"]] {
            assert!(Command::try_parse_from(["maar"].into_iter().chain(wrong)).is_err(), "{wrong:?}");
        }
    }
}
