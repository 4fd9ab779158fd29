import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { JobDetail, JobPhase, JobType } from "../api/types";
import { usageOf } from "../ui/usage";

export interface JobFilter {
  search?: string;
  phase?: JobPhase;
  type?: JobType;
  account?: string;
  mine?: boolean;
}

export const jobsQuery = (filter: JobFilter) =>
  infiniteQueryOptions({
    queryKey: ["jobs", "list", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(client.GET("/api/v1/jobs", { params: { query: { ...filter, cursor: pageParam, limit: 50 } } })),
    getNextPageParam: (page) => page.next ?? undefined,
  });

export interface Work {
  namespace: string;
  name: string;
}

const key = ({ namespace, name }: Work) => ["jobs", "one", namespace, name];

export const jobQuery = (path: Work) =>
  queryOptions({
    queryKey: key(path),
    queryFn: () => take(client.GET("/api/v1/jobs/{namespace}/{name}", { params: { path } })),
  });

export const whyQuery = (path: Work) =>
  queryOptions({
    queryKey: [...key(path), "why"],
    // What the scheduler says of a Pod that waits is not told by the stream of changes.
    refetchInterval: 5000,
    queryFn: () => take(client.GET("/api/v1/jobs/{namespace}/{name}/why", { params: { path } })),
  });

export const eventsQuery = (path: Work) =>
  queryOptions({
    queryKey: [...key(path), "events"],
    queryFn: () => take(client.GET("/api/v1/jobs/{namespace}/{name}/events", { params: { path } })),
  });

export const usageQuery = (one: JobDetail) =>
  queryOptions({
    queryKey: ["usage", "jobs", one.namespace, one.name],
    // Measurements are not told by the stream of changes.
    refetchInterval: 15_000,
    queryFn: () => usageOf(one.pods),
  });

export const below = ({ namespace, name }: Work, what: string) =>
  `/api/v1/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${what}`;
