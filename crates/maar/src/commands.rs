//! The clap tree, one file per command.

mod account;
mod address;
mod cards;
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
mod target;
mod terminal;
mod top;
mod up;
mod wait;
mod ways;
mod workspace;

use clap::{Parser, Subcommand};

pub(crate) use failure::{exit_code, words};

/// The version with the commit it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("MAAR_COMMIT"), ")");

/// What scripts may count on; failure.rs has the same at length.
const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 the command line makes no sense, 3 there is no such object, 4 refused, \
    5 nobody answers, 6 not within --timeout. maar ssh ends with the code of ssh, exec with that of \
    the command it runs.";

/// Kubernetes clusters as one shared GPU cloud.
#[derive(Debug, Parser)]
#[command(name = "maar", version = VERSION, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything in this process: an embedded cluster with simulated GPU nodes, ready for kubectl.
    Up(up::Arguments),
    /// Log in to a portal, so that other commands work in your name.
    #[command(after_help = "Examples:\n  \
        maar login https://gpu.example --user ada\n  \
        maar login https://gpu.example --device\n  \
        maar login --forget")]
    Login(login::Arguments),
    /// Make, list, use and stop workspaces.
    #[command(visible_alias = "ws")]
    Workspace(workspace::Arguments),
    /// Enter a workspace with the ssh of this machine, by a certificate that lasts minutes.
    #[command(after_help = "Examples:\n  \
        maar ssh desk\n  \
        maar ssh desk -L 8888:localhost:8888\n  \
        maar ssh desk -- nvidia-smi")]
    Ssh(ssh::Arguments),
    /// Print or write settings for ssh, scp, sftp and editors.
    #[command(after_help = "Examples:\n  \
        maar ssh-config --write --certificate   then ssh desk@maar, scp and editors work while you are logged in\n  \
        maar ssh-config --write                 the same with a key that you have added on the pages")]
    SshConfig(ssh::ConfigArguments),
    /// See to it that the key of ssh-config has a certificate; ssh calls this itself.
    #[command(hide = true)]
    SshCertificate(ssh::CertificateArguments),
    /// Write the program that SSH brings into containers, for a portal on another processor.
    #[command(
        after_help = "Example, on a machine with arm64, for maar portal --ssh-helpers helpers on amd64:\n  \
        maar ssh-helper helpers"
    )]
    SshHelper(ssh::HelperArguments),
    /// Reach ports of a workspace or of a job on this machine.
    #[command(after_help = "Examples:\n  \
        maar forward desk 8888              http://127.0.0.1:8888 here is port 8888 there\n  \
        maar forward desk 9000:8888 :6006   8888 on 9000 here, and 6006 on any free port\n  \
        maar forward job/train 6006         of the first Pod of a job that runs\n  \
        maar forward job/train/worker-1 6006")]
    Forward(forward::Arguments),
    /// Copy files to and from a workspace or a job.
    #[command(after_help = "Examples:\n  \
        maar cp data desk:/work/            a file or a folder into /work\n  \
        maar cp desk:/work/results .        and back\n  \
        maar cp job/train:/out/model.pt .   from the first Pod of a job that runs")]
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
    #[command(after_help = "Examples:\n  maar explain job train\n  maar explain pod train-worker-0")]
    Explain(explain::Arguments),
    /// Show who has what of the cluster.
    #[command(after_help = "Examples:\n  maar top\n  maar top accounts -o json")]
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
        Command::SshCertificate(arguments) => ssh::keep_certificate(arguments).await,
        Command::SshHelper(arguments) => ssh::write_helper(&arguments),
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

    /// Commands that print many things of one kind: a table for people, and the same for programs.
    const LISTINGS: [&[&str]; 11] = [
        &["workspace", "list"],
        &["workspace", "get", "desk"],
        &["job", "list"],
        &["job", "get", "train"],
        &["kubeconfig", "list"],
        &["account", "list"],
        &["account", "get", "lab"],
        &["policy", "preview"],
        &["cleanup", "--dry-run"],
        &["top", "nodes"],
        &["top", "accounts"],
    ];

    #[test]
    fn every_listing_is_printed_in_every_way() {
        for words in LISTINGS {
            for way in ["table", "wide", "json", "yaml"] {
                let line = [&["maar"], words, &["-o", way]].concat();
                assert!(Cli::try_parse_from(&line).is_ok(), "{line:?}");
            }
            let line = [&["maar"], words, &["-o", "xml"]].concat();
            assert!(Cli::try_parse_from(&line).is_err(), "{line:?}");
        }
    }

    /// A command that lists and is not in the table above is a listing that was forgotten.
    #[test]
    fn no_listing_is_forgotten() {
        fn look(command: &clap::Command, path: &[&str]) {
            for one in command.get_subcommands() {
                let path = [path, &[one.get_name()]].concat();
                let known = LISTINGS.iter().any(|words| words.starts_with(&path));
                assert!(!["list", "get"].contains(&one.get_name()) || known, "{path:?}");
                look(one, &path);
            }
        }
        look(&Cli::command(), &[]);
    }

    #[test]
    fn who_waits_can_say_how_long() {
        for words in [
            &["workspace", "create", "desk", "--image", "i"][..],
            &["workspace", "stop", "desk"],
            &["workspace", "resume", "desk"],
            &["workspace", "delete", "desk"],
            &["job", "submit", "--image", "i"],
            &["job", "cancel", "train"],
            &["job", "suspend", "train"],
            &["job", "resume", "train"],
        ] {
            let with = |more: &[&str]| Cli::try_parse_from([&["maar"], words, more].concat()).is_ok();
            assert!(with(&["--wait"]) && with(&["--wait", "--timeout", "10m"]), "{words:?}");
            assert!(!with(&["--timeout", "10m"]) && !with(&["--wait", "--timeout", "soon"]), "{words:?}");
        }
    }

    #[test]
    fn the_version_names_the_commit() {
        assert!(VERSION.starts_with(env!("CARGO_PKG_VERSION")), "{VERSION}");
        assert!(VERSION.ends_with(')'), "{VERSION}");
    }
}
