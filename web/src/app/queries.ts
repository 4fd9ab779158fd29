import { QueryCache, QueryClient } from "@tanstack/react-query";
import { asApiError, mayRetry } from "../api/error";
import { Live } from "../api/live";

let signedOut: () => void = () => {};

/** What is done when a session turns out to be over. */
export function onSignedOut(run: () => void) {
  signedOut = run;
}

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (asApiError(error).code === "signedOut") signedOut();
    },
  }),
  defaultOptions: {
    queries: {
      // Changes are told by the stream: nothing gets old by itself.
      staleTime: 60_000,
      retry: (count, error) => mayRetry(error) && count < 3,
      refetchOnWindowFocus: false,
    },
  },
});

export const live = new Live(queries);
