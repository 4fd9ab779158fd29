import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import { wholeList } from "../api/pages";
import type { NodeView } from "../api/types";

export async function allNodes(): Promise<NodeView[]> {
  const whole = await wholeList((query) => take(client.GET("/api/v1/nodes", { params: { query } })));
  return whole.items;
}

export const nodesQuery = queryOptions({ queryKey: ["nodes", "list"], queryFn: allNodes });

export const historyQuery = queryOptions({
  queryKey: ["history", 24],
  queryFn: () => take(client.GET("/api/v1/nodes/history", { params: { query: { hours: 24 } } })),
  staleTime: 5 * 60_000,
  retry: false,
});
