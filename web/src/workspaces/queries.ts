import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import { listKey, type Work, workKey } from "../work/work";

export const workspacesQuery = (filter: { search?: string; mine?: boolean }) =>
  infiniteQueryOptions({
    queryKey: [...listKey("workspaces"), filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(
        client.GET("/api/v1/workspaces", { params: { query: { ...filter, cursor: pageParam, limit: 50 } } }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });

export const workspaceQuery = (path: Work) =>
  queryOptions({
    queryKey: workKey("workspaces", path),
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}", { params: { path } })),
  });

export const neighboursQuery = (path: Work) =>
  queryOptions({
    queryKey: [...workKey("workspaces", path), "neighbours"],
    retry: false,
    queryFn: () => take(client.GET("/api/v1/workspaces/{namespace}/{name}/neighbours", { params: { path } })),
  });

export const imagesQuery = queryOptions({
  queryKey: ["images"],
  retry: false,
  queryFn: () => take(client.GET("/api/v1/images")),
});
