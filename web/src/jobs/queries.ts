import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import { wholeList } from "../api/pages";
import type { JobPhase, JobType } from "../api/types";
import { listKey, type Work, workKey } from "../work/work";

export interface JobFilter {
  search?: string;
  phase?: JobPhase;
  type?: JobType;
  mine?: boolean;
  namespace?: string;
  /** The job whose schedule or array made them. */
  parent?: string;
}

export const jobsQuery = (filter: JobFilter) =>
  infiniteQueryOptions({
    queryKey: [...listKey("jobs"), filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(client.GET("/api/v1/jobs", { params: { query: { ...filter, cursor: pageParam, limit: 50 } } })),
    getNextPageParam: (page) => page.next ?? undefined,
  });

/** Pods as people count them: the second before the tenth. */
export const inOrder = <Pod extends { name: string }>(pods: Pod[]): Pod[] =>
  [...pods].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));

/** All Pods of a job; the job itself brings the first of them. */
export const podsQuery = (path: Work) =>
  queryOptions({
    queryKey: [...workKey("jobs", path), "pods"],
    queryFn: async () => {
      const { namespace, name } = path;
      const read = (query: { limit: number; cursor?: string }) =>
        take(
          client.GET("/api/v1/jobs/{namespace}/{name}/pods", {
            params: { path: { namespace, name }, query },
          }),
        );
      return inOrder((await wholeList(read)).items);
    },
  });

export const jobQuery = (path: Work) =>
  queryOptions({
    queryKey: workKey("jobs", path),
    queryFn: () => take(client.GET("/api/v1/jobs/{namespace}/{name}", { params: { path } })),
    select: (job) => ({ ...job, pods: inOrder(job.pods) }),
  });
