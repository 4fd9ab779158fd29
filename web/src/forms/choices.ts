// What the cluster offers to choose from: kinds of cards, pools, nodes, accounts, volumes.
import { useQuery } from "@tanstack/react-query";
import { accountsQuery, volumesQuery } from "../api/shared";
import type { NodeView } from "../api/types";
import { useMe } from "../app/session";
import { nodesQuery } from "../heatmap/queries";
import { cardTitle } from "../ui/format";

export interface CardChoice {
  resource: string;
  title: string;
  free: number;
  total: number;
}

/** Kinds of cards, with how many of them are free. */
export function cardChoices(nodes: NodeView[]): CardChoice[] {
  const kinds = new Map<string, CardChoice>();
  for (const node of nodes) {
    for (const kind of node.cards) {
      const one = kinds.get(kind.resource) ?? {
        resource: kind.resource,
        title: cardTitle(kind.resource),
        free: 0,
        total: 0,
      };
      one.total += kind.cards.length;
      if (node.ready && node.schedulable)
        one.free += kind.cards.filter((card) => card.holders.length === 0).length;
      kinds.set(kind.resource, one);
    }
  }
  return [...kinds.values()].sort((a, b) => b.total - a.total);
}

export function useChoices() {
  const me = useMe();
  const nodes = useQuery(nodesQuery).data ?? [];
  const accounts = useQuery(accountsQuery).data?.items ?? [];
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  const payers = accounts.filter((one) => me.platformAdmin || (one.role && one.role !== "viewer"));
  return {
    cards: cardChoices(nodes),
    pools: [...new Set(nodes.flatMap((node) => node.pool ?? []))].sort(),
    nodes: nodes.map((node) => node.name),
    accounts: payers.map((one) => ({ value: one.name, label: one.displayName ?? one.name })),
    // A volume that goes with a workspace is not for others to rely on.
    volumes: volumes.filter((one) => !one.workspace).map((one) => one.name),
  };
}
