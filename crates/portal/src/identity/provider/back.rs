//! Where somebody goes after signing in: a page of ours, and nowhere else.

/// Longer ones are nobody's page.
const LONGEST: usize = 1024;

/// The page to go to: `asked` if it is a path of ours, else the first page. What browsers read as another host (`//evil`,
/// `/\evil`, either with a tab between) or as another scheme is no path of ours; the API has no pages.
pub(super) fn safe_back(asked: Option<&str>) -> &str {
    let path = |text: &&str| {
        let before_query = text.split(['?', '#']).next().unwrap_or_default();
        text.starts_with('/')
            && text.len() <= LONGEST
            && text.bytes().all(|one| one.is_ascii_graphic() && one != b'\\')
            && !before_query.contains("//")
            && !before_query.starts_with("/api/")
    };
    asked.filter(path).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_pages_of_ours_are_gone_to() {
        for own in
            ["/", "/workspaces", "/jobs/user-ada/train?tab=logs", "/a#b", "/x?next=https://other.example/y"]
        {
            assert_eq!(safe_back(Some(own)), own);
        }
        let long = format!("/{}", "a".repeat(2000));
        for evil in [
            "",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "/.//evil.example",
            "/a//evil.example",
            "/%0d%0aSet-Cookie: x",
            "/a\r\nSet-Cookie: x=y",
            "evil.example",
            "@evil.example",
            "/api/v1/login/corp/begin",
            "/a b",
            "/ü",
            &long,
        ] {
            assert_eq!(safe_back(Some(evil)), "/", "{evil:?}");
        }
        assert_eq!(safe_back(None), "/");
    }

    proptest! {
        #[test]
        fn whatever_is_asked_it_stays_here(asked in "[/\\\\:a-z.\t\n?#@ ]{0,12}") {
            let went = safe_back(Some(&asked));
            prop_assert!(went.starts_with('/') && !went.starts_with("//"));
            prop_assert!(!went.contains('\\') && !went.chars().any(char::is_control));
        }
    }
}
