import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";

/** The cluster at a glance. */
export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: () => take(client.GET("/api/v1/overview")),
});

export const quotaQuery = queryOptions({
  queryKey: ["quota"],
  queryFn: () => take(client.GET("/api/v1/quota")),
});
