// Lists that several pages use.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "./client";

export const accountsQuery = queryOptions({
  queryKey: ["accounts", "list"],
  queryFn: () => take(client.GET("/api/v1/accounts", { params: { query: { limit: 500 } } })),
});

export const volumesQuery = queryOptions({
  queryKey: ["volumes"],
  queryFn: () => take(client.GET("/api/v1/volumes")),
});

export const templatesQuery = (kind?: "workspace" | "job") =>
  queryOptions({
    queryKey: ["templates", kind ?? "all"],
    queryFn: () => take(client.GET("/api/v1/templates", { params: { query: { kind, limit: 500 } } })),
  });

export const templateQuery = (id: string) =>
  queryOptions({
    queryKey: ["templates", "one", id],
    queryFn: () => take(client.GET("/api/v1/templates/{id}", { params: { path: { id } } })),
  });
