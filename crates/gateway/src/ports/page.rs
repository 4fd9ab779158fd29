//! What is shown instead of an app: small pages in English and Chinese, and plain text for programs. Pure.

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::Refusal;

/// The words of a page: a title and what to do.
type Words = (&'static str, &'static str);

impl Refusal {
    const fn status(self) -> StatusCode {
        match self {
            Self::Bad => StatusCode::BAD_REQUEST,
            Self::Unknown => StatusCode::NOT_FOUND,
            Self::Foreign | Self::Denied => StatusCode::FORBIDDEN,
            Self::SignedOut | Self::Stale => StatusCode::UNAUTHORIZED,
            Self::Asleep => StatusCode::CONFLICT,
            Self::Silent => StatusCode::BAD_GATEWAY,
            Self::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    const fn english(self) -> Words {
        match self {
            Self::Bad => {
                ("This request makes no sense", "It was not sent on. Open the app again from the portal.")
            }
            Self::Unknown => {
                ("There is nothing here", "Open the app from its workspace or job in the portal.")
            }
            Self::Foreign => (
                "Sent by another page",
                "Pages of other sites and other apps do not use this one. Open it in a tab of its own.",
            ),
            Self::SignedOut => (
                "Please open this app from the portal",
                "Your visit has ended, or it has not begun yet. Its workspace or job in the portal has a button for it.",
            ),
            Self::Stale => (
                "This link is no longer valid",
                "It was used already, has expired or was taken back. Ask who gave it to you for a new one.",
            ),
            Self::Denied => ("You may not see this app", "Its owner has not shared it with you."),
            Self::Asleep => (
                "What this app runs in is not running",
                "Its workspace or job is suspended, waits for its turn, is about to begin or has ended. Look at it in the portal, then reload this page.",
            ),
            Self::Silent => (
                "Nothing listens on this port yet",
                "Start the program and let it listen on 127.0.0.1, then reload this page.",
            ),
            Self::Unreachable => {
                ("What this app runs in does not answer", "Wait a moment, then reload this page.")
            }
        }
    }

    const fn chinese(self) -> Words {
        match self {
            Self::Bad => ("无法理解此请求", "请求未被转发。请从门户重新打开该应用。"),
            Self::Unknown => ("这里什么都没有", "请从门户中的工作空间或作业打开应用。"),
            Self::Foreign => {
                ("请求来自其他页面", "其他网站和其他应用的页面不能使用此应用。请在单独的标签页中打开。")
            }
            Self::SignedOut => {
                ("请从门户打开此应用", "您的访问已结束或尚未开始。门户中的工作空间或作业页面有打开按钮。")
            }
            Self::Stale => ("此链接已失效", "它已被使用、已过期或已被收回。请向分享者索取新的链接。"),
            Self::Denied => ("您无权查看此应用", "所有者没有与您共享。"),
            Self::Asleep => (
                "此应用所在的工作空间或作业没有在运行",
                "它已暂停、正在排队、即将启动或已经结束。请在门户中查看，然后刷新本页。",
            ),
            Self::Silent => ("此端口上还没有程序监听", "请启动程序并监听 127.0.0.1，然后刷新本页。"),
            Self::Unreachable => ("此应用所在的工作空间或作业没有响应", "请稍候，然后刷新本页。"),
        }
    }
}

/// The answer that tells a refusal. `portal` is where people go on.
pub(super) fn page(refusal: Refusal, asked: &HeaderMap, portal: &str) -> Response<Body> {
    let text = |name| asked.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let chinese = prefers_chinese(text(header::ACCEPT_LANGUAGE));
    let (title, advice) = if chinese { refusal.chinese() } else { refusal.english() };
    let reads_pages = text(header::ACCEPT).contains("text/html");
    let (kind, body) = if reads_pages {
        ("text/html; charset=utf-8", html(title, advice, portal, chinese))
    } else {
        ("text/plain; charset=utf-8", format!("{title}. {advice}\n"))
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = refusal.status();
    let fixed = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "accept, accept-language"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether Chinese comes before English among the languages of a browser.
fn prefers_chinese(languages: &str) -> bool {
    let place = |wanted: &str| {
        let ranked = languages.split(',').map(|one| {
            let (name, rest) = one.trim().split_once(';').unwrap_or((one.trim(), ""));
            let weight =
                rest.trim().strip_prefix("q=").and_then(|text| text.parse::<f32>().ok()).unwrap_or(1.0);
            (name.to_ascii_lowercase(), weight)
        });
        let own = ranked.filter(|(name, _)| name == wanted || name.starts_with(&format!("{wanted}-")));
        own.map(|(_, weight)| weight).fold(0.0, f32::max)
    };
    place("zh") > place("en")
}

/// Only words of ours and an address that an administrator gave are in it.
fn html(title: &str, advice: &str, portal: &str, chinese: bool) -> String {
    let (language, back) = if chinese { ("zh-CN", "前往门户") } else { ("en", "Go to the portal") };
    let portal = portal.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><html lang=\"{language}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title><style>\
         :root{{color-scheme:light dark}}body{{font:16px/1.6 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;\
         place-items:center}}main{{max-width:30rem;padding:2rem}}h1{{font-size:1.4rem;margin:0 0 .5rem}}p{{margin:0 0 1.5rem}}\
         </style></head><body><main><h1>{title}</h1><p>{advice}</p><a href=\"{portal}\">{back}</a></main></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn pages_speak_the_language_of_the_browser() {
        for (languages, want) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", true),
            ("en-US,en;q=0.9,zh;q=0.8", false),
            ("", false),
            ("de", false),
            ("ZH", true),
            ("en;q=0.2, zh-TW;q=0.3", true),
        ] {
            assert_eq!(prefers_chinese(languages), want, "{languages}");
        }
    }

    #[tokio::test]
    async fn people_get_a_page_and_programs_a_line() {
        let mut asked = HeaderMap::new();
        let text = async |asked: &HeaderMap| {
            let response = page(Refusal::Silent, asked, "https://gpu.example/\"<x>");
            assert_eq!(response.status(), 502);
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        insta::assert_snapshot!(text(&asked).await, @"Nothing listens on this port yet. Start the program and let it listen on 127.0.0.1, then reload this page.");
        asked.insert(header::ACCEPT, "text/html,*/*".parse().unwrap());
        asked.insert(header::ACCEPT_LANGUAGE, "zh-CN".parse().unwrap());
        let shown = text(&asked).await;
        assert!(shown.contains("lang=\"zh-CN\"") && shown.contains("此端口上还没有程序监听"), "{shown}");
        assert!(shown.contains("href=\"https://gpu.example/&quot;&lt;x>\""), "{shown}");
    }
}
