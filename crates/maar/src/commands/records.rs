//! `maar records`: looking after the database of users, sessions, keys and the audit log.

mod audit;
mod backup;
mod migrate;
mod password;
mod prune;

/// What `maar records` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Copy a SQLite database while it is in use (for PostgreSQL there is pg_dump)
    Backup(backup::Arguments),
    /// Bring the schema up to date, as every start does
    Migrate(DatabaseArgs),
    /// Read the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Give somebody whose password is lost a new one, which has to be changed at the next login
    #[command(after_help = "Examples:\n  \
        maar records password admin --records sqlite:///var/lib/maar/records.db\n\n\
        The password is printed once, and all sessions of the user end. The portal may be running: it knows of it within a \
        second. It is in the audit log. Those who sign in by LDAP, OIDC or the like have no password here.")]
    Password(password::Arguments),
    /// Take out what is too old to keep; of audit entries it leaves an entry that says so
    Prune(prune::Arguments),
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Print entries as lines of JSON, oldest first
    Export(Box<audit::Arguments>),
}

/// Which database.
#[derive(Debug, clap::Args)]
struct DatabaseArgs {
    /// Database: sqlite:///path/to/file.db or postgres://…
    #[arg(long, value_name = "URL", env = "MAAR_RECORDS", hide_env_values = true)]
    records: String,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Backup(command) => backup::run(&command).await,
        Command::Migrate(database) => migrate::run(&database).await,
        Command::Audit(AuditCommand::Export(command)) => audit::run(*command).await,
        Command::Password(command) => password::run(&command).await,
        Command::Prune(command) => prune::run(&command).await,
    }
}
