import { queryOptions } from "@tanstack/react-query";
import type { ClusterOverview } from "../api/agreed";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import { allNodes } from "../heatmap/queries";
import { summarize } from "./summary";

/** The cluster at a glance; from the nodes where the portal has no overview of its own. */
export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: async (): Promise<ClusterOverview> => {
    try {
      return (await take(client.GET("/api/v1/overview"))) as ClusterOverview;
    } catch (error) {
      const { code } = asApiError(error);
      if (code !== "notFound" && code !== "notAvailable") throw error;
      return summarize(await allNodes());
    }
  },
});

export const quotaQuery = queryOptions({
  queryKey: ["quota"],
  queryFn: () => take(client.GET("/api/v1/quota")),
});
