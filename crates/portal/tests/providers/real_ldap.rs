//! A real slapd, with people whose names try to be filters.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use maar_testkit::ports::free_port;
use serde_json::{Value, json};

use super::{
    absent::absent,
    desk::{Desk, SECRET},
    guarded::{Guarded, finish, folder, program},
};

const BASE: &str = "dc=example,dc=org";
/// Names with every sign that means something to a filter or to a DN.
const HOSTILE: [&str; 6] = ["a*b", "(x)", "back\\slash", "*", "a)(uid=ada", "&|!=~<>,+\""];

struct Directory {
    _slapd: Guarded,
    /// Encrypted from the start, and when asked to be.
    ldaps: u16,
    ldap: u16,
    certificate: PathBuf,
    /// Of somebody else, with the same names.
    other_certificate: PathBuf,
}

/// A directory with people in it, or nothing where there is no slapd.
async fn directory(test: &str) -> Option<Directory> {
    let (Some(slapd), Some(slapadd), Some(openssl)) =
        (program("slapd"), program("slapadd"), program("openssl"))
    else {
        absent("slapd, slapadd or openssl", test);
        return None;
    };
    let folder = folder("slapd");
    std::fs::create_dir(folder.join("data")).unwrap();
    let (certificate, key) = certificate(&openssl, &folder, "own");
    let (other_certificate, _) = self::certificate(&openssl, &folder, "other");
    std::fs::write(folder.join("slapd.conf"), config(&folder, &certificate, &key)).unwrap();
    std::fs::write(folder.join("people.ldif"), people()).unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    finish(Command::new(slapadd).args(["-f", &file("slapd.conf"), "-l", &file("people.ldif")]));
    let (ldaps, ldap) = (free_port(), free_port());
    let addresses = format!("ldaps://127.0.0.1:{ldaps}/ ldap://127.0.0.1:{ldap}/");
    let slapd = Guarded::run(&folder, &slapd, &["-d", "0", "-h", &addresses, "-f", &file("slapd.conf")]);
    slapd.listens(ldaps).await;
    Some(Directory { _slapd: slapd, ldaps, ldap, certificate, other_certificate })
}

fn certificate(openssl: &Path, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let text = "[req]\ndistinguished_name=dn\nx509_extensions=v3\nprompt=no\n[dn]\nCN=localhost\n\
                [v3]\nbasicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n";
    std::fs::write(folder.join("openssl.conf"), text).unwrap();
    let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    finish(
        Command::new(openssl)
            .args([
                "req",
                "-x509",
                "-nodes",
                "-days",
                "2",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
            ])
            .arg("-config")
            .arg(folder.join("openssl.conf"))
            .arg("-out")
            .arg(&certificate)
            .arg("-keyout")
            .arg(&key),
    );
    (certificate, key)
}

fn config(folder: &Path, certificate: &Path, key: &Path) -> String {
    let schemas: String = ["core", "cosine", "inetorgperson"].iter().fold(String::new(), |mut text, name| {
        writeln!(text, "include /etc/ldap/schema/{name}.schema").unwrap();
        text
    });
    format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         TLSCertificateFile {certificate}\nTLSCertificateKeyFile {key}\n\
         database mdb\nsuffix \"{BASE}\"\ndirectory {folder}/data\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.exact=\"cn=maar,{BASE}\" read by * none\n",
        certificate = certificate.display(),
        key = key.display(),
        folder = folder.display(),
    )
}

fn people() -> String {
    let mut ldif = format!(
        "dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
         dn: cn=maar,{BASE}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: maar\nuserPassword: {SECRET}\n\n"
    );
    for unit in ["people", "twins", "groups"] {
        write!(ldif, "dn: ou={unit},{BASE}\nobjectClass: organizationalUnit\nou: {unit}\n\n").unwrap();
    }
    let mut person = |rdn: &str, uid: &str, unit: &str| {
        write!(
            ldif,
            "dn: cn={rdn},ou={unit},{BASE}\nobjectClass: inetOrgPerson\ncn: {rdn}\nsn: {rdn}\nuid: {uid}\n\
             mail: {rdn}@corp.example\nuserPassword: password of {rdn}\n\n"
        )
        .unwrap();
    };
    person("ada", "ada", "people");
    person("eve", "eve", "people");
    person("first-twin", "twin", "people");
    person("second-twin", "twin", "twins");
    for (index, name) in HOSTILE.iter().enumerate() {
        person(&format!("hostile-{index}"), name, "people");
    }
    write!(
        ldif,
        "dn: cn=gpu-admins,ou=groups,{BASE}\nobjectClass: groupOfNames\ncn: gpu-admins\nmember: cn=ada,ou=people,{BASE}\n"
    )
    .unwrap();
    ldif
}

fn providers(url: &str, certificate: &Path, more: &str) -> String {
    format!(
        "providers:\n- {{ kind: ldap, id: dir, url: '{url}', caFile: '{}', baseDn: '{BASE}', bindDn: 'cn=maar,{BASE}', \
         bindPasswordFile: secret, filter: '(&(objectClass=inetOrgPerson)(uid={{name}}))', \
         groups: {{ baseDn: 'ou=groups,{BASE}', filter: '(member={{dn}})', attribute: cn }}, \
         adminGroups: [gpu-admins], {more} }}\n",
        certificate.display()
    )
}

async fn try_login(desk: &Desk, name: &str, password: &str) -> (u16, Value) {
    desk.browser().post("/login/dir", json!({ "name": name, "password": password })).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_of_a_directory_sign_in_and_nobody_by_what_looks_like_a_filter() {
    let Some(directory) = directory("people_of_a_directory_sign_in").await else { return };
    let url = format!("ldaps://localhost:{}", directory.ldaps);
    let desk = Desk::new(&providers(&url, &directory.certificate, "")).await;
    let (_, ways) = desk.browser().get("/login/providers").await;
    assert_eq!(ways["providers"], json!([{ "id": "dir", "kind": "ldap", "title": "dir" }]));
    let (status, me) = try_login(&desk, "ada", "password of ada").await;
    assert_eq!(
        (status, &me["name"], &me["displayName"], &me["email"], &me["platformAdmin"]),
        (200, &json!("ada"), &json!("ada"), &json!("ada@corp.example"), &json!(true))
    );
    let (_, again) = try_login(&desk, "ADA", "password of ada").await;
    assert_eq!(again["id"], me["id"], "the directory does not tell case apart, and it is the same entry");
    let (status, eve) = try_login(&desk, "eve", "password of eve").await;
    assert_eq!((status, &eve["platformAdmin"]), (200, &json!(false)));
    for (name, password) in [
        ("ada", "password of eve"),
        ("ada", ""),
        ("", ""),
        ("", "password of ada"),
        ("nobody", "password of ada"),
        ("ad*", "password of ada"),
        ("ada)(cn=*", "password of ada"),
        ("ada))(|(uid=*", "password of ada"),
        ("ada\0", "password of ada"),
        ("cn=ada,ou=people,dc=example,dc=org", "password of ada"),
        ("twin", "password of first-twin"),
        ("maar", SECRET),
    ] {
        let (status, said) = try_login(&desk, name, password).await;
        assert_eq!((status, &said["code"]), (401, &json!("wrongPassword")), "{name:?} {password:?}: {said}");
    }
    // People who really are called so are themselves, and nobody else.
    for (index, name) in HOSTILE.iter().enumerate() {
        let (status, me) = try_login(&desk, name, &format!("password of hostile-{index}")).await;
        assert_eq!((status, &me["displayName"]), (200, &json!(format!("hostile-{index}"))), "{name}: {me}");
        assert_eq!(try_login(&desk, name, "password of ada").await.0, 401, "{name}");
    }
    let logins = desk.logins(&desk.admin().await).await;
    let reasons: Vec<&str> = logins.iter().filter_map(|entry| entry["detail"].as_str()).collect();
    for why in
        ["the password is empty", "the directory has several such entries", "the directory has no such entry"]
    {
        assert!(reasons.contains(&why), "{why}: {reasons:?}");
    }
    assert!(!format!("{logins:?}").contains("password of"), "no password is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_shows_its_certificate_or_hears_no_password() {
    let Some(directory) = directory("a_directory_shows_its_certificate").await else { return };
    let (ldaps, ldap) = (directory.ldaps, directory.ldap);
    let started =
        Desk::new(&providers(&format!("ldap://localhost:{ldap}"), &directory.certificate, "startTls: true"))
            .await;
    assert_eq!(try_login(&started, "ada", "password of ada").await.0, 200, "encrypted when asked to be");
    for (url, more) in
        [(format!("ldaps://localhost:{ldaps}"), ""), (format!("ldap://localhost:{ldap}"), "startTls: true")]
    {
        let desk = Desk::new(&providers(&url, &directory.other_certificate, more)).await;
        let (status, said) = try_login(&desk, "ada", "password of ada").await;
        assert_eq!((status, &said["code"]), (503, &json!("unavailable")), "{url}: {said}");
    }
    // The service's own password is wrong: nobody gets in, and nobody is told that his is.
    let wrong = providers(&format!("ldaps://localhost:{ldaps}"), &directory.certificate, "")
        .replace(&format!("bindDn: 'cn=maar,{BASE}'"), &format!("bindDn: 'cn=other,{BASE}'"));
    assert_eq!(try_login(&Desk::new(&wrong).await, "ada", "password of ada").await.0, 503);
}
