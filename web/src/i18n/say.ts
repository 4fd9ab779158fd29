// Sentences of the scheduler and of the controllers, which speak English, in the reader's language. What is not known is
// shown as it came: a reason in English is better than none.
import { currentLanguage } from ".";

type Rule = [pattern: RegExp, chinese: string];

/** What keeps nodes away, after a number or after "the only node". */
const reasons: Rule[] = [
  [/^(?:is|are) cordoned$/, "已停止调度"],
  [/^(?:is|are) not ready$/, "未就绪"],
  [/^(?:has|have) too little (.+) left$/, "的 $1 不足"],
  [/^(?:has|have) a taint that it does not tolerate$/, "带有它不能容忍的污点"],
  [/^(?:is|are) not the node it names$/, "不是它指定的节点"],
  [/^(?:do|does) not have the labels it asks for$/, "没有它要求的标签"],
  [/^(?:is|are) in (?:a pool|pools) that its account may not use$/, "位于其账户不能使用的节点池"],
  [/^(?:has|have) no cards of the size asked for left$/, "没有符合要求的空闲卡"],
  [/^(?:is|are) held for work that waits longer$/, "已为等待更久的任务预留"],
];

const rules: Rule[] = [
  [/^its Pods? waits? for a node$/i, "Pod 正在等待可用节点"],
  [/^its Pods? (?:is|are) (?:being made|not made yet)$/i, "正在创建 Pod"],
  [/^its Pods? (?:is|are) starting$/i, "Pod 正在启动"],
  [/^its Pod is being stopped$/i, "Pod 正在停止"],
  [/^its Pod was taken away or ended; another is made$/i, "Pod 已丢失或结束，正在重新创建"],
  [/^(\d+) of (\d+) Pods? waits? for (?:a node|nodes)$/, "$2 个 Pod 中有 $1 个在等待节点"],
  [/^(\d+) of (\d+) Pods? (?:is|are) starting$/, "$2 个 Pod 中有 $1 个正在启动"],
  [
    /^(\d+) of the (\d+) Pods it needs to start (?:is|are) there and may be placed$/,
    "启动需要 $2 个 Pod，目前只有 $1 个可以调度",
  ],
  [
    /^the Pod it needs to start is not there, or must not be placed yet$/,
    "启动所需的 Pod 尚不存在或暂时不能调度",
  ],
  [/^no node has room for it$/, "没有节点能容纳它"],
  [
    /^there is room for (\d+) of the (\d+) Pods that start together$/,
    "需要同时启动 $2 个 Pod，目前只能容纳 $1 个",
  ],
  [/^no node would have room for it even if it were empty$/, "即使节点全部空闲，也没有节点能容纳它"],
  [
    /^the nodes would not have room for its (\d+) Pods even if they were empty$/,
    "即使节点全部空闲，也容纳不下它的 $1 个 Pod",
  ],
  [
    /^it has places, and starts when (\d+) Pods? that (?:was|were) asked to go (?:has|have) stopped$/,
    "位置已确定，待 $1 个 Pod 退出后启动",
  ],
  [
    /^account (\S+) may have at most (\S+) (\S+), has (\S+), and this asks for (\S+)$/,
    "账户 $1 最多可用 $2 个 $3，已用 $4，本次申请 $5",
  ],
  [
    /^(\S+) may have at most (\S+) (\S+), has (\S+), and this asks for (\S+) on account (\S+)$/,
    "$1 在账户 $6 中最多可用 $2 个 $3，已用 $4，本次申请 $5",
  ],
  [/^others took its place; it waits for a new one$/, "位置被他人占用，正在重新排队"],
  [/^The scheduler has not said anything about it yet\.$/, "调度器暂未给出原因。"],
  [/^it was cancelled$/, "已被取消"],
  [/^it is suspended(?:; unset suspend to go on)?$/, "已挂起"],
  [/^it ran longer than maxRunSeconds$/, "超过了最长运行时间"],
  [/^its deadline has passed$/, "已超过截止时间"],
  [/^its account does not exist$/, "所属账户不存在"],
  [/^all Pods that decide have ended well$/, "全部成功结束"],
  [/^Pods are being stopped$/, "正在停止 Pod"],
  [/^Pods are made again$/, "正在重新创建 Pod"],
  [/^it makes jobs by the clock$/, "按时间表创建作业"],
  [/^nodes are held for it$/, "已为其预留节点"],
];

function translate(text: string, table: Rule[]): string | undefined {
  for (const [pattern, chinese] of table) {
    const found = pattern.exec(text);
    if (found) return chinese.replace(/\$(\d)/g, (_, index: string) => found[Number(index)] ?? "");
  }
  return undefined;
}

function nodes(text: string): string | undefined {
  if (text === "there are no nodes") return "集群中没有节点";
  const only = /^the only node (.+)$/.exec(text);
  if (only) return `唯一的节点${translate(only[1] ?? "", reasons) ?? ` ${only[1]}`}`;
  const some = /^(\d+) nodes? (.+?)\.?$/.exec(text);
  const why = some && translate(some[2] ?? "", reasons);
  if (some && why) return `${some[1]} 个节点${why}`;
  const several = /^of (\d+) nodes (.+)$/.exec(text);
  if (!several) return undefined;
  const parts = (several[2] ?? "").split(", ").map((part) => {
    const counted = /^(\d+) (.+)$/.exec(part);
    return counted ? `${counted[1]} 个${translate(counted[2] ?? "", reasons) ?? ` ${counted[2]}`}` : part;
  });
  return `${several[1]} 个节点中，${parts.join("，")}`;
}

function inChinese(text: string): string {
  const whole = translate(text, rules) ?? nodes(text);
  if (whole) return whole;
  // A sentence with its reason after a colon, each known by itself.
  const colon = text.indexOf(": ");
  if (colon > 0) {
    const [head, tail] = [text.slice(0, colon), text.slice(colon + 2)];
    const [first, rest] = [translate(head, rules), nodes(tail) ?? translate(tail, rules)];
    if (first && rest) return `${first}：${rest}`;
    const pod = /^Pod (\S+)$/.exec(head);
    if (pod && rest) return `Pod ${pod[1]}：${rest}`;
  }
  return text;
}

/**
 * What Kubernetes says when a quota is used up, with every limit that is reached: `…exceeded quota: NAME, requested:
 * pods=1, used: pods=200, limited: pods=200 (403 Forbidden)`.
 */
function quota(text: string): string | undefined {
  const found =
    /exceeded quota: [^,]+, requested: (.+), used: (.+), limited: (.+?)(?: \(403 Forbidden\))?$/.exec(text);
  if (!found) return undefined;
  const [asked, used, limits] = found.slice(1).map((part) => new Map(part.split(",").map(pair)));
  const parts = [...(limits ?? [])].map(([name, limit]) => {
    const [has, wants] = [used?.get(name) ?? "0", asked?.get(name) ?? "?"];
    return currentLanguage() === "zh-CN"
      ? `${name} 上限 ${limit}，已用 ${has}，本次申请 ${wants}`
      : `at most ${limit} ${name}, ${has} are used, and this asks for ${wants}`;
  });
  return currentLanguage() === "zh-CN"
    ? `您的配额不足：${parts.join("；")}`
    : `Your quota does not allow it: ${parts.join("; ")}`;
}

function pair(text: string): [string, string] {
  const [name = "", value = ""] = text.trim().split("=");
  return [name.replace(/^(requests|limits)\./, ""), value];
}

/** A sentence of the cluster for the reader. */
export function say(text: string | null | undefined): string {
  if (!text) return "";
  const limits = quota(text);
  if (limits) return limits;
  if (currentLanguage() === "zh-CN") return inChinese(text);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
