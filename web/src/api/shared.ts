// Lists that several pages use.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "./client";
import { wholeList } from "./pages";

export const accountsQuery = queryOptions({
  queryKey: ["accounts", "list"],
  queryFn: () => wholeList((query) => take(client.GET("/api/v1/accounts", { params: { query } }))),
});

export const volumesQuery = queryOptions({
  queryKey: ["volumes"],
  queryFn: () => wholeList((query) => take(client.GET("/api/v1/volumes", { params: { query } }))),
});

/** More rights that administrators have granted. */
export const profilesQuery = queryOptions({
  queryKey: ["profiles"],
  queryFn: () => wholeList((query) => take(client.GET("/api/v1/profiles", { params: { query } }))),
});

export const templatesQuery = (kind?: "workspace" | "job") =>
  queryOptions({
    queryKey: ["templates", kind ?? "all"],
    queryFn: () =>
      wholeList((query) => take(client.GET("/api/v1/templates", { params: { query: { kind, ...query } } }))),
  });

export const templateQuery = (id: string) =>
  queryOptions({
    queryKey: ["templates", "one", id],
    queryFn: () => take(client.GET("/api/v1/templates/{id}", { params: { path: { id } } })),
  });
