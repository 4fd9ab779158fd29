//! The text both ends prime their header compression with. It is a constant of SPDY/3: header names and
//! values, each after its length, and then a run of text without lengths.

use std::sync::LazyLock;

use bytes::BufMut;

/// The dictionary as zlib wants it.
pub(super) static DICTIONARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::with_capacity(1423);
    for word in WORDS {
        bytes.put_u32(u32::try_from(word.len()).expect("the words below are short"));
        bytes.put_slice(word.as_bytes());
    }
    bytes.put_slice(REST.as_bytes());
    bytes
});

#[rustfmt::skip]
const WORDS: [&str; 65] = [
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding",
    "accept-language", "accept-ranges", "age", "allow", "authorization", "cache-control", "connection",
    "content-base", "content-encoding", "content-language", "content-length", "content-location",
    "content-md5", "content-range", "content-type", "date", "etag", "expect", "expires", "from", "host",
    "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    "last-modified", "location", "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization",
    "range", "referer", "retry-after", "server", "te", "trailer", "transfer-encoding", "upgrade",
    "user-agent", "vary", "via", "warning", "www-authenticate", "method", "get", "status", "200 OK",
    "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin",
];

const REST: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 No",
    "n-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403",
    " Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Fe",
    "b Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunke",
    "d,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/",
    "javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_everybody_has() {
        let mut compressor = flate2::Compress::new(flate2::Compression::default(), true);
        assert_eq!(DICTIONARY.len(), 1423);
        assert_eq!(
            compressor.set_dictionary(&DICTIONARY).unwrap(),
            0xe3c6_a7c2,
            "its checksum in SPDY/3 streams"
        );
    }
}
