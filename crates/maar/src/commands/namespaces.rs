//! Which namespaces are whose, for views of nodes.

use maar_jobs::PodKinds;

/// What a Pod on a node is follows from its owner and its namespace.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Kinds of Pods")]
pub(crate) struct NamespaceArgs {
    /// Namespaces whose Pods are part of the system; others that belong to no job are external
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = namespace, default_values_t = PodKinds::default().system)]
    system_namespaces: Vec<String>,
    /// Namespaces that are for jobs: what belongs to none there is part of the system
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = namespace, default_values_t = PodKinds::default().jobs)]
    job_namespaces: Vec<String>,
}

impl NamespaceArgs {
    pub(crate) fn kinds(&self) -> PodKinds {
        PodKinds { system: self.system_namespaces.clone(), jobs: self.job_namespaces.clone() }
    }
}

/// The name of a namespace, as Kubernetes has it.
fn namespace(text: &str) -> Result<String, String> {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    let bare = |end: Option<char>| end.is_some_and(|end| end != '-');
    let (first, last) = (text.chars().next(), text.chars().next_back());
    if text.len() <= 63 && text.chars().all(inside) && bare(first) && bare(last) {
        return Ok(text.to_owned());
    }
    Err("a namespace is small letters, digits and dashes, at most 63, and no dash at either end".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: NamespaceArgs,
    }

    #[test]
    fn namespaces_are_as_told_or_the_usual_ones() {
        let kinds = |words: &[&str]| {
            Command::try_parse_from(["x"].iter().chain(words)).map(|command| command.arguments.kinds())
        };
        assert_eq!(kinds(&[]).unwrap(), PodKinds::default());
        let told =
            kinds(&["--system-namespaces", "kube-system,crater-system", "--job-namespaces", "lab"]).unwrap();
        assert_eq!((told.system.len(), told.jobs), (2, vec!["lab".to_owned()]));
        for wrong in ["", "A", "-a", "a-", "a,,b", "a b"] {
            let error = kinds(&[&format!("--system-namespaces={wrong}")]).unwrap_err().to_string();
            assert!(error.contains("--system-namespaces"), "{wrong}: {error}");
        }
    }
}
