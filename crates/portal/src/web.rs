//! The pages themselves: files of `web/dist`, which the binary holds. They are the same for everybody, so nobody is asked
//! who he is; what they show comes from the API.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use rust_embed::{Embed, EmbeddedFile};

/// Scripts come from us alone. Styles may be inline: the parts of the pages set sizes and places by them.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";
/// What a build without pages answers.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Maar</title>\
    <h1>The pages are not in this build</h1><p>Run <code>make web</code> and build again; it needs Node. \
    The API works without them: <a href=\"/api/docs\">/api/docs</a>.</p></html>";

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// Answers a request that no route of the API took.
pub(crate) fn serve(method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
    let mut response = if *method == Method::GET || *method == Method::HEAD {
        page(uri.path(), headers)
    } else {
        (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response()
    };
    if *method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn page(path: &str, headers: &HeaderMap) -> Response {
    let asked = path.trim_start_matches('/');
    let place = is_place(asked);
    let name = if place { "index.html" } else { asked };
    // What is packed is another form of a file, not a file of its own.
    let packed_itself = has_ending(name, "br") || has_ending(name, "gz");
    match (!packed_itself).then(|| Files::get(name)).flatten() {
        Some(file) => answer(name, file, headers),
        None if place => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NOT_BUILT).into_response(),
        None => (StatusCode::NOT_FOUND, "there is nothing here\n").into_response(),
    }
}

/// Whether a path is a place inside the pages, and not a file. Places may end in names with dots, as nodes have
/// them (`/nodes/gpu-1.example`); files are at the root or below `assets`, and nothing has a part that begins with a dot.
fn is_place(asked: &str) -> bool {
    let hidden = asked.split('/').any(|part| part.starts_with('.'));
    let at_root = asked.contains('.') && !asked.contains('/');
    !(hidden || at_root || asked.starts_with("assets/"))
}

fn answer(name: &str, plain: EmbeddedFile, headers: &HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let packed = encodings(accepted.unwrap_or_default())
        .find_map(|(word, ending)| Some((word, Files::get(&format!("{name}.{ending}"))?)));
    let (encoding, file) = match packed {
        Some((word, file)) => (Some(word), file),
        None => (None, plain),
    };
    let tag = format!("\"{}\"", crate::identity::hex(&file.metadata.sha256_hash()[..16]));
    // Names of assets hold a hash of what is in them, so a name never means something else.
    let keep = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(file.data).into_response()
    };
    let head = response.headers_mut();
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(name)));
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    head.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        head.insert(header::ETAG, tag);
    }
    if let Some(word) = encoding {
        head.insert(header::CONTENT_ENCODING, HeaderValue::from_static(word));
    }
    response
}

/// The packed forms that the browser takes, the smallest first, with the ending of their files.
fn encodings(accepted: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let takes = |word: &str| {
        accepted.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            parts.next() == Some(word)
                && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
    };
    [("br", "br"), ("gzip", "gz")]
        .into_iter()
        .filter(move |(word, _)| takes(word))
        .collect::<Vec<_>>()
        .into_iter()
}

fn has_ending(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(method: &Method, path: &str) -> Response {
        serve(method, &path.parse().unwrap(), &HeaderMap::new())
    }

    #[test]
    fn the_browser_says_which_packed_forms_it_takes() {
        let words = |accepted: &str| encodings(accepted).map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(words("gzip, deflate, br, zstd"), ["br", "gzip"]);
        assert_eq!(words("gzip;q=0.8"), ["gzip"]);
        assert_eq!(words("br;q=0, gzip"), ["gzip"]);
        assert!(words("identity").is_empty());
        assert!(words("").is_empty());
    }

    #[test]
    fn every_place_is_a_page_and_every_answer_keeps_scripts_of_others_out() {
        for path in
            ["/", "/workspaces", "/jobs/user-ada/train", "/nodes/gpu-1.example", "/nodes/gpu-1.example/cards"]
        {
            let response = get(&Method::GET, path);
            assert_eq!(response.status(), 200, "{path}");
            assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/html"));
            assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        }
        for path in [
            "/assets/none.js",
            "/assets/fonts/none",
            "/none.ico",
            "/../Cargo.toml",
            "/nodes/../Cargo.toml",
            "/index.html.br",
            "/.git/config.x",
            "/nodes/.git",
        ] {
            assert_eq!(get(&Method::GET, path).status(), 404, "{path}");
        }
        assert_eq!(get(&Method::POST, "/").status(), 405);
    }
}
