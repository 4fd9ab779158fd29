use super::*;

/// What the API server answered: scheme, host, name of the host, port, path.
#[test]
fn urls_are_taken_apart_as_by_the_server() {
    let rows = [
        ("https://example.com:443/a", ["https", "example.com:443", "example.com", "443", "/a"]),
        ("HTTP://EXAMPLE.com/A", ["http", "EXAMPLE.com", "EXAMPLE.com", "", "/A"]),
        ("https://a/b/./c/../d", ["https", "a", "a", "", "/b/./c/../d"]),
        ("https://a/b c", ["https", "a", "a", "", "/b%20c"]),
        ("https://u:p@h:1/", ["https", "h:1", "h", "1", "/"]),
        ("https://[fe80::1%25en0]:80/", ["https", "[fe80::1%en0]:80", "fe80::1%en0", "80", "/"]),
        ("https:///path", ["https", "", "", "", "/path"]),
        ("https://h:/", ["https", "h:", "h", "", "/"]),
        ("mailto:a@b.c", ["mailto", "", "", "", ""]),
        ("/abs?x=1#f", ["", "", "", "", "/abs"]),
        ("//host/path", ["", "host", "host", "", "/path"]),
        ("https://h/a[1]", ["https", "h", "h", "", "/a[1]"]),
        ("https://h/\"<>^`{|}", ["https", "h", "h", "", "/%22%3C%3E%5E%60%7B%7C%7D"]),
        ("https://中文.com/路", ["https", "中文.com", "中文.com", "", "/%E8%B7%AF"]),
        ("*", ["", "", "", "", "*"]),
    ];
    for (text, want) in rows {
        let url = parse::parse(text).unwrap();
        let (hostname, port) = split_port(&url.host);
        assert_eq!([&*url.scheme, &*url.host, hostname, port, &*url.path], want, "{text}");
    }
}

#[test]
fn what_the_server_refuses_is_refused() {
    let refused = [
        "",
        "rel/path",
        "https://a/%zz",
        "https://u%zz@h",
        "https://[::1",
        "https://::1/",
        "https://h:port/",
        "https://h:-1/",
        "https://h#frag",
        "https://exa mple.com/",
        "https://ex%41mple.com/",
        "1http://h",
        "://h",
        "http://[::1]a/",
        "http://a b@c/",
        "http://h/\n",
        "http://[1.2.3.4]/",
        "http://[]/",
        "*#a",
        "?x=1",
    ];
    for text in refused {
        assert!(parse::request(text).is_err(), "{text}");
    }
    // This one could be asked for, and yet has no port.
    assert!(parse::request("//a:b/").is_ok() && parse::parse("//a:b/").is_err());
}
