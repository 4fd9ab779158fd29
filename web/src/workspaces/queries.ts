import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { WorkspaceDetail, WorkspacePhase } from "../api/types";
import { usageOf } from "../ui/usage";

export interface WorkspaceFilter {
  search?: string;
  phase?: WorkspacePhase;
  mine?: boolean;
}

export const workspacesQuery = (filter: WorkspaceFilter) =>
  infiniteQueryOptions({
    queryKey: ["workspaces", "list", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(
        client.GET("/api/v1/workspaces", { params: { query: { ...filter, cursor: pageParam, limit: 50 } } }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });

interface Work {
  namespace: string;
  name: string;
}

const key = ({ namespace, name }: Work) => ["workspaces", "one", namespace, name];

export const workspaceQuery = (path: Work) =>
  queryOptions({
    queryKey: key(path),
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}", { params: { path } })),
  });

export const whyQuery = (path: Work) =>
  queryOptions({
    queryKey: [...key(path), "why"],
    // What the scheduler says of a Pod that waits is not told by the stream of changes.
    refetchInterval: 5000,
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}/why", { params: { path } })),
  });

export const eventsQuery = (path: Work) =>
  queryOptions({
    queryKey: [...key(path), "events"],
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}/events", { params: { path } })),
  });

export const neighboursQuery = (path: Work) =>
  queryOptions({
    queryKey: [...key(path), "neighbours"],
    retry: false,
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}/neighbours", { params: { path } })),
  });

export const usageQuery = (one: WorkspaceDetail) =>
  queryOptions({
    queryKey: ["usage", "workspaces", one.namespace, one.name],
    // Measurements are not told by the stream of changes.
    refetchInterval: 15_000,
    queryFn: () => usageOf([{ node: one.node, cards: one.givenCards }]),
  });

export const imagesQuery = queryOptions({
  queryKey: ["images"],
  retry: false,
  queryFn: () => take(client.GET("/api/v1/images")),
});

/** The address of something below a workspace. */
export const below = ({ namespace, name }: Work, what: string) =>
  `/api/v1/workspaces/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${what}`;
