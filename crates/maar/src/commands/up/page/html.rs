//! The page itself: one file, no script, light and dark.

use std::fmt::Write as _;

use maar_api::Quantity;

use super::view::{NodeState, NodeView, Share, View};
use super::words::Words;

/// More squares than this are shown as a bar.
const SQUARES: i64 = 32;
/// How many waiting Pods are listed.
const LISTED: usize = 20;

/// The whole page.
pub(super) fn page(words: &Words, view: &View) -> String {
    let mut body = String::new();
    let nodes = view.nodes.len();
    tile(&mut body, words.nodes, &format!("{} / {nodes}", view.ready()), words.ready);
    for (resource, share) in &view.devices {
        tile(&mut body, resource, &format!("{} / {}", share.taken, share.whole), words.taken);
    }
    let phases: Vec<String> = view.phases.iter().map(|(phase, count)| format!("{phase} {count}")).collect();
    tile(&mut body, words.pods, &view.phases.values().sum::<usize>().to_string(), &phases.join(" · "));
    let mut rows = String::new();
    for node in &view.nodes {
        row(&mut rows, words, node);
    }
    let Words { nodes, cards, cpu, memory, pods, .. } = words;
    document(
        words,
        &format!(
            "<div class=tiles>{body}</div><div class=scroll><table><thead><tr><th>{nodes}<th>{cards}<th>{cpu}\
             <th>{memory}<th class=n>{pods}</thead><tbody>{rows}</tbody></table></div>{}{}",
            legend(words),
            waiting(words, view),
        ),
    )
}

/// What to show when the cluster cannot be read.
pub(super) fn failure(words: &Words, error: &str) -> String {
    document(words, &format!("<p class=bad>{}: {}", words.failed, escape(error)))
}

fn document(words: &Words, body: &str) -> String {
    let Words { language, title, .. } = words;
    format!(
        "<!doctype html><html lang={language}><meta charset=utf-8><meta http-equiv=refresh content=5>\
         <meta name=viewport content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style>\
         <main><h1>{title}</h1>{body}</main></html>"
    )
}

fn tile(out: &mut String, label: &str, number: &str, note: &str) {
    let (label, note) = (escape(label), escape(note));
    // Writing to a String cannot fail, here and below.
    let _ = write!(out, "<div class=tile><span>{label}</span><b>{number}</b><span>{note}</span></div>");
}

fn row(out: &mut String, words: &Words, node: &NodeView) {
    let (class, state) = match node.state {
        NodeState::Ready => ("ok", words.ready),
        NodeState::NotReady => ("bad", words.not_ready),
        NodeState::Cordoned => ("closed", words.cordoned),
    };
    let name = escape(&node.name);
    let _ = write!(out, "<tr><td><i class=\"dot {class}\" title=\"{state}\"></i>{name}");
    if node.state != NodeState::Ready {
        let _ = write!(out, "<small class={class}>{state}</small>");
    }
    out.push_str("<td>");
    for (resource, share) in &node.devices {
        device(out, words, resource, *share);
    }
    for share in [node.cpu, node.memory] {
        out.push_str("<td>");
        bar(out, share);
    }
    let _ = write!(out, "<td class=n>{}", node.pods);
}

fn device(out: &mut String, words: &Words, resource: &str, share: Share) {
    let (taken, whole) = (share.taken.value(), share.whole.value());
    let name = escape(resource);
    let _ = write!(out, "<div class=device title=\"{name}: {taken} / {whole} {}\">", words.taken);
    if whole > SQUARES {
        bar(out, share);
    } else {
        for number in 0..whole {
            out.push_str(if number < taken { "<i class=on></i>" } else { "<i></i>" });
        }
    }
    let _ = write!(out, "<small>{name}</small></div>");
}

fn bar(out: &mut String, share: Share) {
    let percent = share.percent();
    let _ = write!(
        out,
        "<div class=bar><i style=\"width:{percent:.0}%\"></i></div><small>{} / {}</small>",
        amount(share.taken),
        amount(share.whole)
    );
}

/// Bytes in the unit people speak of, anything small as it is.
fn amount(quantity: Quantity) -> String {
    const UNITS: [(f64, &str); 3] =
        [(1_099_511_627_776.0, "Ti"), (1_073_741_824.0, "Gi"), (1_048_576.0, "Mi")];
    let number = quantity.approximate();
    match UNITS.iter().find(|(size, _)| number >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", number / size).replace(".0 ", " "),
        None => quantity.to_string(),
    }
}

fn legend(words: &Words) -> String {
    let Words { taken, free, .. } = words;
    format!("<p class=device><i class=on></i> {taken} &nbsp; <i></i> {free}</p>")
}

fn waiting(words: &Words, view: &View) -> String {
    let mut out = format!("<h2>{}</h2>", words.waiting);
    if view.waiting.is_empty() {
        let _ = write!(out, "<p>{}</p>", words.nobody_waits);
        return out;
    }
    out.push_str("<ul>");
    for one in view.waiting.iter().take(LISTED) {
        let _ = write!(out, "<li><b>{}</b> {}", escape(&one.pod), escape(&one.reason));
    }
    if let Some(rest) = view.waiting.len().checked_sub(LISTED).filter(|rest| *rest > 0) {
        let _ = write!(out, "<li>… {rest} {}", words.more);
    }
    out.push_str("</ul>");
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Taken is told by fill, not by hue alone, so that it reads the same without colours.
const STYLE: &str = include_str!("page.css");

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::view::Waiting;
    use super::super::words::{CHINESE, ENGLISH};
    use super::*;

    fn share(taken: i64, whole: i64) -> Share {
        Share { taken: Quantity::from_units(taken), whole: Quantity::from_units(whole) }
    }

    fn view() -> View {
        let cards = BTreeMap::from([("example.com/<card>".to_owned(), share(1, 4))]);
        let node = NodeView {
            name: "<gpu>".to_owned(),
            state: NodeState::NotReady,
            pods: 2,
            cpu: share(2, 8),
            memory: share(1 << 30, 1 << 40),
            devices: cards.clone(),
        };
        let waiting = (0..25)
            .map(|number| Waiting { pod: format!("team/{number}"), reason: "no card is free".to_owned() })
            .collect();
        View { nodes: vec![node], phases: BTreeMap::new(), devices: cards, waiting }
    }

    #[test]
    fn cards_are_squares_amounts_have_units_and_long_lists_end() {
        let page = page(&ENGLISH, &view());
        assert!(page.contains("<i class=on></i><i></i><i></i><i></i><small>"), "{page}");
        assert!(page.contains("1 Gi / 1 Ti") && page.contains("2 / 8"), "{page}");
        assert!(page.contains("… 5 more") && !page.contains("team/20"), "{page}");
    }

    #[test]
    fn what_is_not_the_page_s_own_is_escaped() {
        let page = page(&CHINESE, &view());
        assert!(
            page.contains("&lt;gpu&gt;") && !page.contains("<gpu>") && !page.contains("<card>"),
            "{page}"
        );
        assert!(page.contains("未就绪") && page.contains("正在运行"), "{page}");
        assert!(failure(&ENGLISH, "<x>").contains("&lt;x&gt;"));
    }
}
