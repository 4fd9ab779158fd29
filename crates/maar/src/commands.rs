//! The clap tree, one file per command.

mod account;
mod cleanup;
mod client;
mod completion;
mod cp;
mod explain;
mod failure;
mod forward;
mod grant;
mod job;
mod jobs;
mod kubeconfig;
mod login;
mod namespaces;
mod oauth;
mod output;
mod policy;
mod portal;
mod records;
mod reference;
mod remote;
mod run;
mod scheduler;
mod simulate;
mod ssh;
mod top;
mod up;
mod ways;
mod workspace;

use clap::{Parser, Subcommand};

pub(crate) use failure::exit_code;

/// The version with the commit it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("MAAR_COMMIT"), ")");

/// Kubernetes clusters as one shared GPU cloud.
#[derive(Debug, Parser)]
#[command(name = "maar", version = VERSION, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything in this process: an embedded cluster with simulated GPU nodes, ready for kubectl.
    Up(up::Arguments),
    /// Log in to a portal, so that other commands work in your name.
    Login(login::Arguments),
    /// Make, list, use and stop workspaces.
    #[command(visible_alias = "ws")]
    Workspace(workspace::Arguments),
    /// Be in a workspace by the ssh of this machine, with a certificate for minutes.
    Ssh(ssh::Arguments),
    /// Print or write settings for ssh, scp, sftp and editors.
    SshConfig(ssh::ConfigArguments),
    /// Reach ports of a workspace on this machine.
    Forward(forward::Arguments),
    /// Copy files to and from a workspace.
    Cp(cp::Arguments),
    /// Submit, list, follow and stop jobs.
    Job(job::Arguments),
    /// Write, list and revoke kubeconfigs for your namespace.
    Kubeconfig(kubeconfig::Arguments),
    /// List, show, make and import accounts.
    Account(account::Arguments),
    /// Show what clean-up policies would do.
    Policy(policy::Arguments),
    /// Suspend all workspaces that nobody protected, now: the nightly clean-up for a CronJob.
    Cleanup(cleanup::Arguments),
    /// Say why something waits.
    Explain(explain::Arguments),
    /// Show who has what of the cluster.
    Top(top::Arguments),
    /// Look after the database of users, sessions, keys and the audit log.
    Records(records::Arguments),
    /// Run the role that turns jobs and workspaces into Pods.
    Jobs(jobs::Arguments),
    /// Run the role that serves people: the HTTP API of workspaces, jobs, nodes and users.
    Portal(Box<portal::Arguments>),
    /// Place the Pods of a cluster: queues, gangs, cards, and the reason why something waits.
    Scheduler(Box<scheduler::Arguments>),
    /// Run the scheduler on a trace or a recorded cluster: what would happen, and how full the cards would get.
    Simulate(simulate::Arguments),
    /// Print what a shell needs to complete commands.
    Completion(completion::Arguments),
    /// Write the files that come from the code: reference pages and definitions.
    #[command(hide = true)]
    Reference(reference::Arguments),
}

impl Cli {
    /// Whether the command is worth several threads.
    pub(crate) const fn serves_many(&self) -> bool {
        matches!(self.command, Command::Up(_) | Command::Portal(_))
    }
}

/// Runs the command the user asked for.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Up(arguments) => up::run(arguments).await,
        Command::Login(arguments) => login::run(arguments).await,
        Command::Workspace(arguments) => workspace::run(arguments).await,
        Command::Ssh(arguments) => ssh::run(arguments).await,
        Command::SshConfig(arguments) => ssh::write_config(arguments).await,
        Command::Forward(arguments) => forward::run(arguments).await,
        Command::Cp(arguments) => cp::run(arguments).await,
        Command::Job(arguments) => job::run(arguments).await,
        Command::Kubeconfig(arguments) => kubeconfig::run(arguments).await,
        Command::Account(arguments) => account::run(arguments).await,
        Command::Policy(arguments) => policy::run(arguments).await,
        Command::Cleanup(arguments) => cleanup::run(arguments).await,
        Command::Explain(arguments) => explain::run(arguments).await,
        Command::Top(arguments) => top::run(arguments).await,
        Command::Records(arguments) => records::run(arguments).await,
        Command::Jobs(arguments) => jobs::run(arguments).await,
        Command::Portal(arguments) => portal::run(*arguments).await,
        Command::Scheduler(arguments) => scheduler::run(*arguments).await,
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Completion(arguments) => {
            completion::run(&arguments);
            Ok(())
        }
        Command::Reference(arguments) => reference::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_version_names_the_commit() {
        assert!(VERSION.starts_with(env!("CARGO_PKG_VERSION")), "{VERSION}");
        assert!(VERSION.ends_with(')'), "{VERSION}");
    }
}
