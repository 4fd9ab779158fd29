// How busy the cards of a piece of work were, out of what its nodes tell of all their cards.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { Usage } from "../api/types";
import type { Kind, Work } from "../work/work";

export interface Place {
  node?: string | null;
  /** Cards that were given, such as `nvidia.com/gpu=2,3` or `nvidia.com/gpu=2:0.5`. */
  cards?: string | null;
}

/** A job may be on hundreds of nodes, and nobody reads a thousand lines. */
const mostNodes = 8;

/** Cards by node, as `node/number`. Pure. */
export function cardsByNode(places: Place[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { node, cards } of places) {
    if (!node || !cards) continue;
    const numbers = cards
      .split(";")
      .flatMap((part) => part.split("=")[1]?.split(",") ?? [])
      .map((card) => card.split(":")[0]?.trim() ?? "");
    const set = found.get(node) ?? new Set();
    for (const number of numbers) set.add(`${node}/${number}`);
    found.set(node, set);
  }
  return found;
}

export const usageQuery = (kind: Kind, { namespace, name }: Work, places: Place[]) =>
  queryOptions({
    queryKey: ["usage", kind, namespace, name],
    // Measurements are not told by the stream of changes.
    refetchInterval: 15_000,
    queryFn: () => usageOf(places),
  });

async function usageOf(places: Place[]): Promise<Usage> {
  const nodes = [...cardsByNode(places)].slice(0, mostNodes);
  const parts = await Promise.all(
    nodes.map(async ([name, wanted]) => {
      const path = { name };
      const usage = await take(
        client.GET("/api/v1/nodes/{name}/usage", { params: { path, query: { minutes: 60 } } }),
      );
      return (usage as Usage).cards.filter((card) => wanted.has(card.card));
    }),
  );
  return { cards: parts.flat() };
}
