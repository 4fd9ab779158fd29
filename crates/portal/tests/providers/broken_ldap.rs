//! A directory that answers what is no LDAP: nobody gets in, and the portal goes on.

use std::net::SocketAddr;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::desk::Desk;

/// A message of LDAP: its number and what is in it, all shorter than 128 bytes.
fn message(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(3 + content.len()).unwrap();
    [&[0x30, length, 2, 1, number][..], content].concat()
}

/// Everything is well; answers a bind (0x61) or ends a search (0x65).
fn success(number: u8, kind: u8) -> Vec<u8> {
    message(number, &[kind, 7, 0x0a, 1, 0, 4, 0, 4, 0])
}

/// A directory that sends these, one for each request.
async fn directory(answers: Vec<Vec<u8>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            for answer in &answers {
                if stream.read(&mut request).await.unwrap_or(0) == 0
                    || stream.write_all(answer).await.is_err()
                {
                    break;
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_directory_that_speaks_no_ldap_is_away_and_takes_nothing_with_it() {
    let bound = success(1, 0x61);
    let entry = |content: &[u8]| [message(2, content), success(2, 0x65)].concat();
    for (what, answers) in [
        ("no message at all", vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()]),
        ("a result without a code", vec![message(1, &[0x61, 0])]),
        ("a result that is a text", vec![message(1, &[0x61, 2, 4, 0])]),
        ("a number that is a text", vec![vec![0x30, 5, 4, 1, 1, 0x61, 0]]),
        ("an answer of a kind that nobody knows", vec![message(1, &[0x7e, 0])]),
        ("an entry with nothing in it", vec![bound.clone(), entry(&[0x64, 0])]),
        ("an entry whose name is no text", vec![bound.clone(), entry(&[0x64, 5, 4, 1, 0xff, 0x30, 0])]),
        ("attributes that are a text", vec![bound.clone(), entry(&[0x64, 5, 4, 1, b'a', 4, 0])]),
    ] {
        let address = directory(answers).await;
        let providers = format!(
            "providers:\n- {{ kind: ldap, id: dir, url: 'ldap://{address}', baseDn: 'dc=example' }}\n"
        );
        let desk = Desk::new(&providers).await;
        let body = json!({ "name": "ada", "password": "password of ada" });
        let (status, said) = desk.browser().post("/login/dir", body).await;
        assert_eq!((status, &said["code"]), (503, &json!("unavailable")), "{what}: {said}");
        let entry = desk.logins(&desk.admin().await).await.pop().unwrap();
        assert_eq!((&entry["outcome"], &entry["actor"]["name"]), (&json!("failed"), &json!("ada")), "{what}");
    }
}
