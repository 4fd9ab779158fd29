//! What a portal gives its users: recommended images, and the most that one of them may have.

use std::path::{Path, PathBuf};

use maar_api::Quantity;
use maar_portal::{Profiles, Settings, SpecialLimits};

use super::failure::Failure;

/// What it can be told.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Users")]
pub(crate) struct GrantArgs {
    /// An image to recommend, and what it is called; several times for several
    #[arg(long, value_name = "IMAGE=TITLE")]
    image: Vec<String>,
    /// The most that one user may have, whichever account pays: workspaces, jobs, pods, volumes, storage, or what Pods ask
    /// for together (cpu, memory, nvidia.com/gpu, …); several times for several
    #[arg(long, value_name = "WHAT=AMOUNT")]
    user_limit: Vec<String>,
    /// File of limits that differ from --user-limit for some users, and for those who may start work for some accounts
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// File of profiles: what some users and accounts may beside the ordinary, such as privileged Pods
    #[arg(long, value_name = "FILE")]
    profiles: Option<PathBuf>,
}

impl GrantArgs {
    /// Tells a portal.
    pub(crate) fn apply(&self, settings: &mut Settings) -> Result<(), Failure> {
        if let Some(file) = &self.profiles {
            settings.profiles = read("--profiles", file, Profiles::parse)?;
        }
        if let Some(file) = &self.limits {
            settings.special_limits = read("--limits", file, SpecialLimits::parse)?;
        }
        for text in &self.image {
            let (image, title) = pair("--image", text)?;
            settings.images.push((image.to_owned(), title.to_owned()));
        }
        for text in &self.user_limit {
            let (what, amount) = pair("--user-limit", text)?;
            let wrong = |why: &str| Failure::usage(format!("--user-limit {text}: {amount} is {why}"));
            let amount: Quantity = amount.parse().map_err(|_| wrong("no amount, such as 8 or 64Gi"))?;
            settings.limits.set(what, amount).map_err(wrong)?;
        }
        Ok(())
    }
}

fn read<T>(flag: &str, file: &Path, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Failure> {
    let wrong = |why: String| Failure::usage(format!("{flag} {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(wrong)
}

fn pair<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let found = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    found.ok_or_else(|| Failure::usage(format!("{flag} {text} has no = between two words")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(images: &[&str], limits: &[&str]) -> Result<Settings, Failure> {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        let mut settings = Settings::at(Vec::new());
        GrantArgs { image: words(images), user_limit: words(limits), ..GrantArgs::default() }
            .apply(&mut settings)?;
        Ok(settings)
    }

    #[test]
    fn limits_and_images_are_told() {
        let settings = told(
            &["torch:2=PyTorch 2"],
            &["workspaces=3", "storage=1Ti", "nvidia.com/gpu=8", "memory=512Gi"],
        )
        .unwrap();
        assert_eq!(settings.images, [("torch:2".to_owned(), "PyTorch 2".to_owned())]);
        assert_eq!(settings.limits.workspaces, 3);
        assert_eq!(settings.limits.storage, Quantity::from_bytes(1 << 40));
        assert_eq!(settings.limits.requests.get("nvidia.com/gpu"), Quantity::from_units(8));
        for wrong in ["workspaces", "=3", "workspaces=", "workspaces=many", "workspaces=1.5", "cpu=-1"] {
            assert!(told(&[], &[wrong]).is_err(), "{wrong}");
        }
        assert!(told(&["torch"], &[]).is_err());
        let missing = GrantArgs { limits: Some("/nowhere/limits.yaml".into()), ..GrantArgs::default() };
        let said = missing.apply(&mut Settings::at(Vec::new())).unwrap_err().to_string();
        assert!(said.contains("--limits /nowhere/limits.yaml"), "{said}");
    }
}
