//! Names, images and paths.

use maar_api::v1alpha1::MountSpec;

use crate::error::ApiError;

/// A field that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) field: String,
    pub(crate) why: String,
    /// It repeats what was sent.
    pub(crate) quotes: bool,
}

impl Wrong {
    pub(crate) fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into(), quotes: false }
    }

    /// Has not the shape that is wanted; the error may hold any of what was sent.
    pub(crate) fn shape(field: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self { quotes: true, ..Self::new(field, error.to_string()) }
    }
}

impl From<Wrong> for ApiError {
    fn from(wrong: Wrong) -> Self {
        if wrong.quotes {
            return Self::shape(wrong.field, wrong.why);
        }
        Self::invalid(wrong.field, wrong.why)
    }
}

/// A name that is part of host names.
pub(crate) fn check_name(field: &str, name: &str, most: usize) -> Result<(), Wrong> {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    let begins = name.starts_with(|one: char| one.is_ascii_lowercase());
    if begins && name.len() <= most && name.chars().all(inside) && !name.ends_with('-') {
        return Ok(());
    }
    let why = format!("begins with a letter, then letters a-z, digits and dashes, at most {most}");
    Err(Wrong::new(field, why))
}

/// A reference of an image: a name with an optional registry, tag and digest, and nothing that a shell would read.
pub(crate) fn check_image(field: &str, image: &str) -> Result<(), Wrong> {
    let wrong = |why: &str| Err(Wrong::new(field, why));
    if image.is_empty() || image.len() > 512 {
        return wrong("has 1 to 512 characters");
    }
    let (rest, digest) = image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
    if let Some(digest) = digest {
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() != 64 || !hex.chars().all(|one| one.is_ascii_hexdigit() && !one.is_ascii_uppercase()) {
            return wrong("has a digest that is not sha256: and 64 hexadecimal digits");
        }
    }
    let last = rest.rsplit('/').next().unwrap_or_default();
    let (name, tag) = match last.split_once(':') {
        Some((_, tag)) => (&rest[..rest.len() - tag.len() - 1], Some(tag)),
        None => (rest, None),
    };
    let tag_character = |one: char| one.is_ascii_alphanumeric() || "._-".contains(one);
    if tag.is_some_and(|tag| tag.is_empty() || tag.len() > 128 || !tag.chars().all(tag_character)) {
        return wrong("has a tag that is not letters, digits, dots, dashes and underscores");
    }
    let mut parts = name.split('/').peekable();
    let registry = parts.next_if(|first| name.contains('/') && is_registry(first));
    if registry.is_some_and(|registry| {
        !registry.starts_with(|one: char| one.is_ascii_alphanumeric() || one == '[')
            || !registry.chars().all(|one| one.is_ascii_alphanumeric() || ".-:[]".contains(one))
    }) {
        return wrong("has a registry that is no host name");
    }
    if parts.all(is_component) {
        Ok(())
    } else {
        wrong("is no name of an image, such as registry.example/team/tool:1.2")
    }
}

fn is_registry(part: &str) -> bool {
    part.contains('.') || part.contains(':') || part == "localhost"
}

fn is_component(part: &str) -> bool {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "._-".contains(one);
    let end = |one: Option<char>| one.is_some_and(|one| one.is_ascii_lowercase() || one.is_ascii_digit());
    part.chars().all(inside) && end(part.chars().next()) && end(part.chars().last()) && !part.contains("..")
}

/// The name of a variable of the environment.
pub(crate) fn check_env(field: &str, name: &str) -> Result<(), Wrong> {
    let inside = |one: char| one.is_ascii_alphanumeric() || one == '_';
    if name.is_empty()
        || name.len() > 256
        || name.starts_with(|one: char| one.is_ascii_digit())
        || !name.chars().all(inside)
    {
        return Err(Wrong::new(field, "is letters, digits and underscores, and begins with no digit"));
    }
    if maar_api::cards::decides_cards(name) {
        return Err(Wrong::new(field, "decides which cards are seen: ask for cards instead"));
    }
    if name.starts_with("MAAR_") {
        return Err(Wrong::new(field, "begins with MAAR_, which is for Maar"));
    }
    Ok(())
}

/// Where something may be mounted.
pub(crate) fn check_path(field: &str, path: &str) -> Result<(), Wrong> {
    let wrong = |why: &str| Err(Wrong::new(field, why));
    let Some(rest) = path.strip_prefix('/') else { return wrong("begins with /") };
    if path.len() > 4096 || path.contains(|one: char| one.is_control() || one == ':') {
        return wrong("has at most 4096 characters, none of them a colon or a control character");
    }
    let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return wrong("is whole: without . and .., empty parts, and not / itself");
    }
    let shared_memory = parts == ["dev", "shm"];
    if matches!(parts[0], "proc" | "sys" | "dev") && !shared_memory {
        return wrong("is not in /proc, /sys or /dev, except /dev/shm");
    }
    Ok(())
}

/// Mounts of volumes: safe places, and only what is inside the volume.
pub(crate) fn check_mounts(field: &str, mounts: &[MountSpec]) -> Result<(), Wrong> {
    for (index, mount) in mounts.iter().enumerate() {
        check_path(&format!("{field}[{index}].path"), &mount.path)?;
        let Some(path) = &mount.sub_path else { continue };
        let safe = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !safe || path.contains(|one: char| one.is_control() || one == '\\') {
            let why = "stays inside the volume: names with / between them, without . and ..";
            return Err(Wrong::new(format!("{field}[{index}].subPath"), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn images_are_names_and_nothing_else() {
        let digest = format!("busybox@sha256:{}", "a".repeat(64));
        let good = [
            "busybox",
            "busybox:1.36",
            "registry.example:5000/team/tool:v1_a",
            "ghcr.io/a/b/c",
            "localhost/x",
            "nvcr.io/nvidia/pytorch:24.01-py3",
            &digest,
        ];
        for image in good {
            assert_eq!(check_image("image", image), Ok(()), "{image}");
        }
        let bad = [
            "",
            "Busybox",
            "a b",
            "a;reboot",
            "$(id)",
            "a//b",
            "../a",
            "a/..",
            "/a",
            "a/",
            "a:",
            "a:b c",
            "a@sha256:12",
            "a`b`",
            "-a",
            "a\nb",
            "http://a/b",
            "a..b",
            "evil$x.example/a",
        ];
        for image in bad {
            assert!(check_image("image", image).is_err(), "{image}");
        }
    }

    #[test]
    fn paths_stay_where_they_belong() {
        for path in ["/work", "/home/ada/data/", "/dev/shm", "/data/..hidden"] {
            assert_eq!(check_path("path", path), Ok(()), "{path}");
        }
        for path in [
            "",
            "work",
            "/",
            "//",
            "/a/../etc",
            "/..",
            "/a//b",
            "/a/./b",
            "/proc/1",
            "/sys",
            "/dev/sda",
            "/dev",
            "/a:b",
            "/a\n",
        ] {
            assert!(check_path("path", path).is_err(), "{path}");
        }
    }

    #[test]
    fn variables_that_decide_which_cards_are_seen_are_not_for_people() {
        assert_eq!(check_env("env", "HF_HOME"), Ok(()));
        for name in
            ["NVIDIA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "MAAR_WORKSPACE", "1A", "A-B", "", "A=B"]
        {
            assert!(check_env("env", name).is_err(), "{name}");
        }
        for name in ["ROCR", "HIP", "CAMBRICON", "MLU", "MTHREADS", "AMD", "ASCEND"] {
            assert!(check_env("env", &format!("{name}_VISIBLE_DEVICES")).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_path_that_passes_climbs(path in "[./a:-]{0,12}") {
            if check_path("path", &path).is_ok() {
                prop_assert!(!path.split('/').any(|part| part == ".." || part == "."));
            }
        }

        #[test]
        fn no_image_that_passes_means_anything_to_a_shell(image in "[a-z0-9./:@$;&|`()<> _-]{1,20}") {
            if check_image("image", &image).is_ok() {
                prop_assert!(!image.contains(|one: char| "$;&|`()<> ".contains(one)));
            }
        }
    }
}
