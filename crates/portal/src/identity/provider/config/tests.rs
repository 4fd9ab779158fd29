//! Files that operators may write, and what they are told of others.

use super::*;
use crate::identity::provider::Providers;

/// Every file holds this.
const SECRET: &str = "a secret in a file that nobody may see";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIBeDCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAAMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAAMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END CERTIFICATE-----\n";

fn read(path: &Path) -> io::Result<String> {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("missing") => Err(io::Error::other("no such file")),
        Some(name) if Path::new(name).extension().is_some_and(|ending| ending == "pem") => Ok(PEM.to_owned()),
        _ => Ok(format!("{SECRET}\n")),
    }
}

fn told(text: &str) -> String {
    match Providers::parse(text, &read) {
        Ok(providers) => format!("{providers:?}"),
        Err(error) => error.to_string(),
    }
}

fn oidc(more: &str) -> String {
    format!(
        "providers:\n- {{ kind: oidc, id: corp, issuer: 'https://id.example', clientId: maar, {more} }}\n"
    )
}

/// The examples of the page for operators are what they say.
#[test]
fn every_example_of_the_documentation_can_be_used() {
    let page = include_str!("../../../../../../docs/operations/identity.md");
    let examples: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 5, "one for each kind, and one with several");
    for example in examples {
        // Certificates of examples are none; what is checked here is the file itself.
        let lines: Vec<&str> = example.lines().filter(|line| !line.contains("caFile")).collect();
        let example = lines.join("\n");
        let providers = Providers::parse(&example, &read);
        assert!(providers.is_ok_and(|providers| providers.count() > 0), "{example}");
    }
}

#[test]
fn operators_are_told_which_field_is_wrong_and_what_is_allowed() {
    let table = [
        "providers: 7".to_owned(),
        "provider: []".to_owned(),
        "providers:\n- { kind: saml, id: corp }".to_owned(),
        "providers:\n- { id: corp }".to_owned(),
        "providers:\n- { kind: oidc, id: corp, clientId: maar }".to_owned(),
        oidc("clientSecret: hunter2"),
        oidc("clientSecretFile: missing"),
        oidc("clientAuthentication: jwt"),
        oidc("scopes: [profile]"),
        oidc("caFile: secret"),
        oidc("").replace("https", "http"),
        oidc("").replace("id: corp", "id: Corp"),
        oidc("").replace("id: corp", "id: providers"),
        format!("{}- {{ kind: oidc, id: corp, issuer: 'https://b.example', clientId: maar }}\n", oidc("")),
        "providers:\n- { kind: ldap, id: dir, url: 'ldap://dir.example', baseDn: dc=x }".to_owned(),
        "providers:\n- { kind: ldap, id: dir, url: 'ldaps://dir.example', baseDn: dc=x, filter: '(uid=ada)' }".to_owned(),
        "providers:\n- { kind: ldap, id: dir, url: 'ldaps://dir.example', baseDn: dc=x, bindDn: cn=x }".to_owned(),
        "providers:\n- { kind: proxy, id: gate, peers: [], secretFile: s, subjectHeader: X-Subject }".to_owned(),
        "providers:\n- { kind: proxy, id: gate, peers: [gate.example], secretFile: s, subjectHeader: X-Subject }".to_owned(),
        "providers:\n- { kind: proxy, id: gate, peers: [10.0.0.1], secretFile: s, subjectHeader: Cookie }".to_owned(),
        "providers:\n- { kind: proxy, id: gate, peers: [10.0.0.1], secretFile: s, subjectHeader: X-Maar-Proxy-Secret }".to_owned(),
        "providers:\n- { kind: proxy, id: gate, peers: [10.0.0.1], secretFile: s, subjectHeader: X-S, adminGroups: [a] }".to_owned(),
        "providers:\n- { kind: oauth2, id: hub, authorizeUrl: 'https://a.example', tokenUrl: 'http://a.example', userinfoUrl: 'https://a.example', clientId: m, subjectField: id, nameField: login }".to_owned(),
    ];
    let told: Vec<String> =
        table.iter().map(|text| told(text).lines().next().unwrap_or_default().to_owned()).collect();
    assert!(told.iter().all(|line| !line.contains(SECRET) && !line.contains("hunter2")), "{told:#?}");
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn secrets_are_in_no_word_about_them() {
    let providers = Providers::parse(&oidc("clientSecretFile: secret"), &read).unwrap();
    assert_eq!(format!("{providers:?}"), r#"["corp"]"#);
}
