import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { NodeView } from "../api/types";

/** All nodes, however many pages they are. */
export async function allNodes(): Promise<NodeView[]> {
  const nodes: NodeView[] = [];
  let cursor: string | undefined;
  do {
    const page = await take(client.GET("/api/v1/nodes", { params: { query: { limit: 500, cursor } } }));
    nodes.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor);
  return nodes;
}

export const nodesQuery = queryOptions({ queryKey: ["nodes", "list"], queryFn: allNodes });

export const historyQuery = queryOptions({
  queryKey: ["history", 24],
  queryFn: () => take(client.GET("/api/v1/nodes/history", { params: { query: { hours: 24 } } })),
  staleTime: 5 * 60_000,
  retry: false,
});
