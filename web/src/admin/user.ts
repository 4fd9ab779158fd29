import { useParams, useSearch } from "@tanstack/react-router";

/** Whom a page is about. His name is said by the page that leads there: the portal tells users by lists only. */
export function useUser() {
  const { user } = useParams({ strict: false }) as { user: string };
  const { name } = useSearch({ strict: false }) as { name?: unknown };
  return { id: user, name: typeof name === "string" ? name : undefined };
}
