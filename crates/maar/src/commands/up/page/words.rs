//! What the page says, in the reader's language.

/// The words of one language.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) language: &'static str,
    pub(super) title: &'static str,
    pub(super) nodes: &'static str,
    pub(super) ready: &'static str,
    pub(super) not_ready: &'static str,
    pub(super) cordoned: &'static str,
    pub(super) pods: &'static str,
    pub(super) cpu: &'static str,
    pub(super) memory: &'static str,
    pub(super) cards: &'static str,
    pub(super) taken: &'static str,
    pub(super) free: &'static str,
    pub(super) waiting: &'static str,
    pub(super) nobody_waits: &'static str,
    pub(super) failed: &'static str,
    pub(super) more: &'static str,
}

pub(super) const ENGLISH: Words = Words {
    language: "en",
    title: "Maar is up",
    nodes: "Nodes",
    ready: "ready",
    not_ready: "not ready",
    cordoned: "closed to new Pods",
    pods: "Pods",
    cpu: "CPU",
    memory: "Memory",
    cards: "Cards and devices",
    taken: "taken",
    free: "free",
    waiting: "Pods that wait, and why",
    nobody_waits: "No Pod waits.",
    failed: "The cluster does not answer",
    more: "more",
};

pub(super) const CHINESE: Words = Words {
    language: "zh-CN",
    title: "Maar 正在运行",
    nodes: "节点",
    ready: "就绪",
    not_ready: "未就绪",
    cordoned: "不再接收新 Pod",
    pods: "Pod",
    cpu: "CPU",
    memory: "内存",
    cards: "加速卡与设备",
    taken: "已占用",
    free: "空闲",
    waiting: "等待中的 Pod 及原因",
    nobody_waits: "没有 Pod 在等待。",
    failed: "集群没有响应",
    more: "更多",
};

impl Words {
    /// The words for the languages a browser asks for, most wanted first.
    pub(super) fn for_reader(accept_language: &str) -> &'static Self {
        let first = accept_language.split([',', ';']).next().unwrap_or_default().trim();
        if first.to_lowercase().starts_with("zh") { &CHINESE } else { &ENGLISH }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wish_decides() {
        for (wish, language) in
            [("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"), ("en-GB,zh;q=0.5", "en"), ("", "en"), (" ZH", "zh-CN")]
        {
            assert_eq!(Words::for_reader(wish).language, language, "{wish}");
        }
    }
}
