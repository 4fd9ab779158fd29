// The typed client. Every request goes through here: it carries the header that no other site can send, and what is not
// an answer becomes an ApiError.
import createClient, { type Middleware } from "openapi-fetch";
import { type ApiError, errorOf, errorOfFailure } from "./error";
import type { paths } from "./schema";

const headers = { "X-Maar-Request": "1" } as const;

const guard: Middleware = {
  onRequest({ request }) {
    request.headers.set("X-Maar-Request", headers["X-Maar-Request"]);
  },
  async onResponse({ response }) {
    if (!response.ok) throw await failure(response);
  },
  onError({ error }) {
    return errorOfFailure(error);
  },
};

async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  return errorOf(response.status, body, response.headers.get("Retry-After"));
}

// fetch is looked up at each call, so that tests can put another in its place.
export const client = createClient<paths>({
  baseUrl: "",
  fetch: (request) => globalThis.fetch(request),
});
client.use(guard);

/** The data of an answer; what is no answer was thrown by then. */
export async function take<T>(call: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  const { data } = await call;
  return data as NonNullable<T>;
}

/** Sends text as it is: manifests that people wrote. */
export async function sendText(path: string, type: string, body: string): Promise<unknown> {
  const response = await globalThis
    .fetch(path, { method: "POST", headers: { ...headers, "Content-Type": type }, body })
    .catch((cause: unknown) => {
      throw errorOfFailure(cause);
    });
  if (!response.ok) throw await failure(response);
  return response.json();
}

/** Text as it comes, piece by piece: logs that go on, the progress of a drain. */
export async function readText(
  path: string,
  onText: (piece: string) => void,
  options: { signal?: AbortSignal; method?: string; json?: object } = {},
): Promise<void> {
  const response = await globalThis
    .fetch(path, {
      method: options.method ?? "GET",
      headers: options.json ? { ...headers, "Content-Type": "application/json" } : headers,
      body: options.json && JSON.stringify(options.json),
      signal: options.signal,
    })
    .catch((cause: unknown) => {
      throw errorOfFailure(cause);
    });
  if (!response.ok) throw await failure(response);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const part = await reader?.read().catch((cause: unknown) => {
      throw errorOfFailure(cause);
    });
    if (!part || part.done) return;
    onText(part.value);
  }
}
