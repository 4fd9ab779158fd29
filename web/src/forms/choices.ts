// What the cluster offers to choose from: kinds of cards, pools, nodes, accounts, volumes.
import { useQuery } from "@tanstack/react-query";
import { accountsQuery, volumesQuery } from "../api/shared";
import type { NodeView } from "../api/types";
import { heldOf } from "../heatmap/model";
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
      if (node.ready && node.schedulable) one.free += kind.cards.length - heldOf(kind);
      kinds.set(kind.resource, one);
    }
  }
  return [...kinds.values()].sort((a, b) => b.total - a.total);
}

export interface PlaceChoice {
  index: number;
  /** How much of it is used, in percent, where that is measured. */
  used?: number;
  holders: number;
  /** Somebody has it whole. */
  taken: boolean;
}

/** Cards of a kind on a node, by their numbers. */
export function placesOn(nodes: NodeView[], name: string, resource: string): PlaceChoice[] {
  const kinds = nodes.find((node) => node.name === name)?.cards ?? [];
  const cards = kinds.filter((kind) => kind.resource === resource).flatMap((kind) => kind.cards);
  return cards.map((card) => ({
    index: card.index,
    used: card.utilisation ?? undefined,
    holders: card.holders.length,
    taken: card.exclusive && card.holders.length > 0,
  }));
}

interface Choice {
  value: string;
  label: string;
}

/** Choices with the one that is chosen by now, also where it is none of them any more. */
export function withOwn(choices: Choice[], chosen: string): Choice[] {
  if (!chosen || choices.some((one) => one.value === chosen)) return choices;
  return [...choices, { value: chosen, label: chosen.replaceAll(",", ", ") }];
}

export function useChoices() {
  const nodes = useQuery(nodesQuery).data ?? [];
  const accounts = useQuery(accountsQuery).data?.items ?? [];
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  // Who governs the platform sees every account, and still has a part only in some.
  const payers = accounts.filter((one) => one.role && one.role !== "viewer");
  return {
    cards: cardChoices(nodes),
    cardsOn: (node: string, resource: string) => placesOn(nodes, node, resource),
    pools: [...new Set(nodes.flatMap((node) => node.pool ?? []))].sort(),
    nodes: nodes.map((node) => node.name),
    accounts: payers.map((one) => ({ value: one.name, label: one.displayName ?? one.name })),
    // A volume that goes with a workspace is not for others to rely on.
    volumes: volumes.filter((one) => !one.workspace).map((one) => one.name),
  };
}
