// What workspaces and jobs have in common: both are work in a namespace, with the same routes below their names.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import { wholeList } from "../api/pages";
import type { Usage } from "../api/types";

export type Kind = "workspaces" | "jobs";

export interface Work {
  namespace: string;
  name: string;
}

/** The page of one. */
export const pages = {
  workspaces: "/workspaces/$namespace/$name",
  jobs: "/jobs/$namespace/$name",
} as const;

export const listKey = (kind: Kind) => [kind, "list"];
export const workKey = (kind: Kind, { namespace, name }: Work) => [kind, "one", namespace, name];

/** The address of something below it. */
export const below = (kind: Kind, { namespace, name }: Work, what: string) =>
  `/api/v1/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${what}`;

export const whyQuery = (kind: Kind, path: Work) =>
  queryOptions({
    queryKey: [...workKey(kind, path), "why"],
    // What the scheduler says of a Pod that waits is not told by the stream of changes.
    refetchInterval: 5000,
    queryFn: () => take(client.GET(`/api/v1/${kind}/{namespace}/{name}/why`, { params: { path } })),
  });

export const eventsQuery = (kind: Kind, path: Work) =>
  queryOptions({
    queryKey: [...workKey(kind, path), "events"],
    queryFn: async () => {
      const read = (query: { limit: number; cursor?: string }) =>
        take(client.GET(`/api/v1/${kind}/{namespace}/{name}/events`, { params: { path, query } }));
      return (await wholeList(read)).items;
    },
  });

/** What its cards did in the last hour. */
export const usageQuery = (kind: Kind, path: Work) =>
  queryOptions({
    queryKey: [...workKey(kind, path), "usage"],
    // Measurements are not told by the stream of changes.
    refetchInterval: 15_000,
    queryFn: async () =>
      (await take(client.GET(`/api/v1/${kind}/{namespace}/{name}/usage`, { params: { path } }))) as Usage,
  });
