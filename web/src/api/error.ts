// One shape for everything that can go wrong between a page and the portal, so that pages never look at status codes.

import type { components } from "./schema";

type Code = components["schemas"]["Code"];

export type ErrorCode =
  | Code
  /** The portal does not know how to do this yet. */
  | "notAvailable"
  /** The portal could not be reached at all. */
  | "offline";

// By name, so that a code that the portal has and this list has not is found by the compiler.
const known: Record<Code, true> = {
  signedOut: true,
  wrongPassword: true,
  loginRefused: true,
  passwordChangeRequired: true,
  crossSite: true,
  scopeMissing: true,
  forbidden: true,
  notFound: true,
  methodNotAllowed: true,
  invalid: true,
  conflict: true,
  previewRequired: true,
  quotaExceeded: true,
  tooLarge: true,
  tooMany: true,
  unavailable: true,
  internal: true,
};

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    more: { field?: string; requestId?: string; retryAfterSeconds?: number } = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.field = more.field;
    this.requestId = more.requestId;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

/** What a status means when the body says nothing, as when a proxy answers instead of the portal. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return "signedOut";
  if (status === 403) return "forbidden";
  if (status === 404) return "notFound";
  if (status === 405) return "methodNotAllowed";
  if (status === 409) return "conflict";
  if (status === 413) return "tooLarge";
  if (status === 422 || status === 400) return "invalid";
  if (status === 429) return "tooMany";
  if (status === 501) return "notAvailable";
  if (status === 502 || status === 503 || status === 504) return "unavailable";
  return "internal";
}

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

/** The error that an answer means. */
export function errorOf(status: number, body: unknown, retryAfter?: string | null): ApiError {
  const fields = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const said = text(fields.code);
  const seconds = retryAfter ? Number.parseInt(retryAfter, 10) : Number.NaN;
  return new ApiError(
    said && Object.hasOwn(known, said) ? (said as Code) : codeOfStatus(status),
    text(fields.message) ?? "",
    {
      field: text(fields.field),
      requestId: text(fields.requestId),
      retryAfterSeconds: Number.isFinite(seconds) ? seconds : undefined,
    },
  );
}

/** The error of a request that got no answer. */
export function errorOfFailure(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  return new ApiError("offline", cause instanceof Error ? cause.message : "");
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("internal", String(error));
}

/** Whether trying again may help: the rest is decided, and asking again only costs. */
export function mayRetry(error: unknown): boolean {
  const { code } = asApiError(error);
  return code === "offline" || code === "unavailable";
}
