// Who is signed in.
import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { Me } from "../api/types";

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => take(client.GET("/api/v1/me")),
  staleTime: 60_000,
});

/** The user; only on pages behind the sign-in, where he is known. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: () => take(client.GET("/api/v1/login/providers")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Development mode lets everybody in without a password: pages say so. */
export function useDevelopment(): boolean {
  return useQuery(providersQuery).data?.development ?? false;
}

/** Whether the user looks after an account, his own work aside. */
export function administers(me: Me): boolean {
  return me.platformAdmin || Object.values(me.accounts).includes("admin");
}
