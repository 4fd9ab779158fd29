// Routes that pages use and docs/reference/openapi.json does not have yet, in the shape that was agreed upon. What the
// document has by now wins (see client.ts), so that lines here can go as soon as it has them.

// biome-ignore lint/complexity/noBannedTypes: "nothing more" is what is meant
type Nothing = {};

type Operation<Answer, Wants extends { query?: object; path?: object; body?: unknown } = Nothing> = {
  parameters: {
    query?: Wants extends { query: infer Query } ? Query : never;
    header?: never;
    cookie?: never;
  } & (Wants extends { path: infer Path } ? { path: Path } : { path?: never });
  responses: {
    200: { headers: Record<string, unknown>; content: { "application/json": Answer } };
  };
} & (Wants extends { body: infer Body }
  ? { requestBody: { content: { "application/json": Body } } }
  : { requestBody?: never });

type Items<T> = { items: T[]; next?: string };
type Work = { namespace: string; name: string };
type WithId = { path: { id: string } };

/** Where the SSH gateway is, and how it shows that it is the one. */
export interface SshGateway {
  enabled: boolean;
  host: string;
  port: number;
  hostKeys: string[];
  fingerprints: string[];
}

export interface SshKey {
  id: string;
  title: string;
  kind: string;
  fingerprint: string;
  created: string;
  lastUsed?: string | null;
  expires?: string | null;
}

export type SharingKind = "private" | "account" | "link";
export interface Sharing {
  kind: SharingKind;
  expires?: string | null;
  /** The address that lets others in; only told to who shares. */
  link?: string | null;
}
export interface PortView {
  port: number;
  name?: string | null;
  sharing: Sharing;
}

export interface AgreedPaths {
  "/api/v1/ssh": { get: Operation<SshGateway> };
  "/api/v1/me/ssh-keys": {
    get: Operation<Items<SshKey>, { query: { limit?: number } }>;
    post: Operation<SshKey, { body: { title: string; key: string; expires?: string } }>;
  };
  "/api/v1/ssh-keys/{id}": { delete: Operation<unknown, WithId> };
  "/api/v1/workspaces/{namespace}/{name}/ports": { get: Operation<Items<PortView>, { path: Work }> };
  "/api/v1/workspaces/{namespace}/{name}/ports/{port}/open": {
    post: Operation<{ url: string; expires: string }, { path: Work & { port: number } }>;
  };
  "/api/v1/workspaces/{namespace}/{name}/ports/{port}/sharing": {
    put: Operation<Sharing, { path: Work & { port: number }; body: { kind: SharingKind; hours?: number } }>;
  };
}
