// Ways in that a portal may have switched off, or be too old for: their tabs are shown only where they lead somewhere.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";

/**
 * What is asked to know whether something is offered. One that failed is not asked again by whoever shows that: it would
 * be unknown meanwhile, be hidden for that, and be shown and asked again without end.
 */
export const once = { staleTime: Number.POSITIVE_INFINITY, retryOnMount: false } as const;

export const sshQuery = queryOptions({
  ...once,
  queryKey: ["ssh"],
  queryFn: () => take(client.GET("/api/v1/ssh")),
});

export const sshKeysQuery = queryOptions({
  queryKey: ["ssh-keys"],
  queryFn: () => take(client.GET("/api/v1/me/ssh-keys", { params: { query: { limit: 500 } } })),
});

export const kubeconfigQuery = queryOptions({
  ...once,
  queryKey: ["kubeconfig"],
  queryFn: () => take(client.GET("/api/v1/kubeconfig")),
});

export const kubeconfigsQuery = queryOptions({
  queryKey: ["kubeconfigs"],
  queryFn: () => take(client.GET("/api/v1/me/kubeconfigs", { params: { query: { limit: 500 } } })),
});

interface Asked {
  data?: object;
  error: unknown;
}

/**
 * Whether the portal has it; nothing while that is not known yet. One that cannot be reached is not one that has it not:
 * the tab is there then, and says what is wrong.
 */
export function isOffered({ data, error }: Asked): boolean | undefined {
  if (error) {
    return !["notFound", "notAvailable", "methodNotAllowed"].includes(asApiError(error).code);
  }
  if (!data) return undefined;
  if ("modes" in data) return Array.isArray(data.modes) && data.modes.length > 0;
  return !("enabled" in data) || data.enabled === true;
}
