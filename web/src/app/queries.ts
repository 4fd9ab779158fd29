import { QueryCache, QueryClient } from "@tanstack/react-query";
import { asApiError, mayRetry } from "../api/error";
import { Live } from "../api/live";

let signedOut: () => void = () => {};

/** What is done when a session turns out to be over. */
export function onSignedOut(run: () => void) {
  signedOut = run;
}

/** Roots of what the stream of changes tells of. */
const told = ["workspaces", "jobs", "nodes", "home", "overview", "quota"];

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (asApiError(error).code === "signedOut") signedOut();
    },
  }),
  defaultOptions: {
    queries: {
      // Nobody tells of accounts, templates, keys and the like: they are read again by whoever comes back to them.
      staleTime: 5000,
      refetchOnWindowFocus: true,
      retry: (count, error) => mayRetry(error) && count < 3,
    },
  },
});
// Nothing of this gets old by itself.
for (const root of told) {
  queries.setQueryDefaults([root], { staleTime: 60_000, refetchOnWindowFocus: false });
}

export const live = new Live(queries);
