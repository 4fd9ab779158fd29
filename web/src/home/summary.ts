// The cluster at a glance, counted from its nodes. Pure.
import type { ClusterOverview } from "../api/agreed";
import type { NodeView } from "../api/types";

export function summarize(nodes: NodeView[]): ClusterOverview {
  const cards = new Map<string, ClusterOverview["cards"][number]>();
  for (const node of nodes) {
    for (const kind of node.cards) {
      const key = `${kind.resource}|${node.model ?? ""}`;
      const sum = cards.get(key) ?? {
        kind: kind.resource,
        model: node.model ?? undefined,
        total: 0,
        used: 0,
        shared: 0,
        free: 0,
      };
      for (const card of kind.cards) {
        const taken = card.holders.length > 0;
        sum.total += 1;
        sum.used += taken ? 1 : 0;
        sum.shared += card.holders.some((holder) => holder.share) ? 1 : 0;
        // What nobody can get is not free.
        sum.free += !taken && node.ready && node.schedulable ? 1 : 0;
      }
      cards.set(key, sum);
    }
  }
  return {
    nodes: { ready: nodes.filter((node) => node.ready).length, total: nodes.length },
    cards: [...cards.values()],
    messages: [],
  };
}
