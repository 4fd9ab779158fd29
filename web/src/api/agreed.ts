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

type Resources = Record<string, string>;
type Named = { name: string };
type Work = { namespace: string; name: string };

export interface LoginProviders {
  password: boolean;
  development: boolean;
  providers: { id: string; kind: "oidc" | "oauth2" | "ldap"; title: string }[];
}

/** What a user likes; kept by the portal so that it follows him from browser to browser. */
export interface Preferences {
  language?: string;
  theme?: string;
  hintsSeen?: string[];
  [more: string]: unknown;
}

export interface Neighbour {
  card: string;
  user?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  share?: string;
}

/** Seconds, percent, bytes. */
export type UsagePoint = [number, number | null, number | null];
export interface Usage {
  cards: { card: string; points: UsagePoint[] }[];
}

export interface AppView {
  kind: string;
  namespace: string;
  name: string;
  ready: number;
  wanted: number;
  image?: string;
  created?: string;
}

export interface NewTemplate {
  kind: "workspace" | "job";
  name: string;
  description: string;
  body: Record<string, unknown>;
  account: string | null;
}
export interface TemplateView extends Omit<NewTemplate, "body" | "account"> {
  id: string;
  account?: string;
  /** It is the asker's own. */
  mine: boolean;
  created: string;
}
export interface TemplateDetail extends TemplateView {
  body: Record<string, unknown>;
}

export interface VolumeView {
  name: string;
  size?: string;
  storageClass?: string;
  shared: boolean;
  phase: string;
  /** The workspace that it goes with. */
  workspace?: string;
  usedBy: string[];
  created?: string;
}

export interface Quota {
  limits: Resources;
  used: Resources;
  accounts: {
    name: string;
    deserved: Resources;
    guaranteed: Resources;
    capability: Resources;
    used: Resources;
  }[];
}

export interface ClusterOverview {
  nodes: { ready: number; total: number };
  cards: { kind: string; model?: string | null; total: number; used: number; shared: number; free: number }[];
  /** Unknown where the page had to count by itself. */
  work?: { running: number; pending: number; suspended: number };
  mine?: { workspaces: number; jobs: number; cards: number };
  messages: ClusterMessage[];
}

/** Something the asker should know. */
export interface ClusterMessage {
  kind: string;
  object: string;
  namespace: string;
  name: string;
  rule: string;
  account: string;
  at: string;
}

export interface NodeHistory {
  step: number;
  begin: number;
  nodes: Record<string, Record<string, (number | null)[]>>;
}

export interface NodePod {
  kind: string;
  phase: string;
  /** Names only for those who may see the work. */
  namespace?: string;
  name?: string;
  user?: string;
  account?: string;
  cards?: string;
  ends?: string;
}
export interface Taint {
  key: string;
  value?: string;
  effect: string;
}
export interface NodeExtras {
  labels?: Record<string, string>;
  taints?: Taint[];
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
  podList?: NodePod[];
  /** The account that has it for itself. */
  account?: string;
}

/** The policy of an account. */
export interface Policy {
  account: string;
  enabled: boolean;
  policy: Record<string, unknown>;
}
export interface PolicyFinding {
  kind: string;
  namespace: string;
  name: string;
  account: string;
  action: string;
  rule?: string;
  end?: string;
  why: string;
}
export interface PolicyPreview {
  hash: string;
  cardUseKnown: boolean;
  findings: PolicyFinding[];
  leftAlone: number;
}

export interface AnySession {
  id: string;
  user: string;
  userId: string;
  provider: string;
  address?: string;
  agent?: string;
  created: string;
  lastSeen: string;
  expires: string;
  revoked: boolean;
}
export interface AnyKey {
  id: string;
  name: string;
  user: string;
  userId: string;
  scopes: string[];
  created: string;
  expires?: string;
  lastUsed?: string;
  revoked: boolean;
}

export interface AccountRequest {
  name?: string;
  displayName?: string;
  parent?: string;
  guaranteed?: Resources;
  deserved?: Resources;
  capability?: Resources;
  weight?: number;
  everyone?: boolean;
}

type Items<T> = { items: T[]; next?: string };

export interface AgreedPaths {
  "/api/v1/login/providers": { get: Operation<LoginProviders> };
  "/api/v1/login/{provider}": {
    post: Operation<unknown, { path: { provider: string }; body: { name: string; password: string } }>;
  };
  "/api/v1/login/development": { post: Operation<unknown, { body: { user: string } }> };
  "/api/v1/me/preferences": {
    get: Operation<Preferences>;
    put: Operation<Preferences, { body: Preferences }>;
  };
  "/api/v1/workspaces/{namespace}/{name}/neighbours": { get: Operation<Items<Neighbour>, { path: Work }> };
  "/api/v1/workspaces/{namespace}/{name}/usage": {
    get: Operation<Usage, { path: Work; query: { minutes?: number } }>;
  };
  "/api/v1/jobs/{namespace}/{name}/usage": {
    get: Operation<Usage, { path: Work; query: { minutes?: number } }>;
  };
  "/api/v1/apps": { get: Operation<Items<AppView>> };
  "/api/v1/templates": {
    get: Operation<Items<TemplateView>, { query: { kind?: string; limit?: number; cursor?: string } }>;
    post: Operation<TemplateView, { body: NewTemplate }>;
  };
  "/api/v1/templates/{id}": {
    get: Operation<TemplateDetail, { path: { id: string } }>;
    put: Operation<TemplateView, { path: { id: string }; body: NewTemplate }>;
    delete: Operation<unknown, { path: { id: string } }>;
  };
  "/api/v1/volumes": {
    get: Operation<Items<VolumeView>>;
    post: Operation<
      VolumeView,
      { body: { name: string; size: string; storageClass?: string; shared?: boolean } }
    >;
  };
  "/api/v1/volumes/{name}": { delete: Operation<unknown, { path: Named }> };
  "/api/v1/images": { get: Operation<Items<{ image: string; title?: string }>> };
  "/api/v1/quota": { get: Operation<Quota> };
  "/api/v1/overview": { get: Operation<ClusterOverview> };
  "/api/v1/nodes/history": { get: Operation<NodeHistory, { query: { hours?: number } }> };
  "/api/v1/nodes/{name}": { get: Operation<NodeExtras & Named, { path: Named }> };
  "/api/v1/nodes/{name}/cordon": { post: Operation<unknown, { path: Named }> };
  "/api/v1/nodes/{name}/uncordon": { post: Operation<unknown, { path: Named }> };
  "/api/v1/nodes/{name}/labels": {
    put: Operation<unknown, { path: Named; body: { set: Record<string, string>; remove: string[] } }>;
  };
  "/api/v1/nodes/{name}/taints": { put: Operation<unknown, { path: Named; body: Taint[] }> };
  "/api/v1/nodes/{name}/account": {
    put: Operation<unknown, { path: Named; body: { account: string | null } }>;
  };
  "/api/v1/policies": { get: Operation<Items<Policy>> };
  "/api/v1/policies/preview": {
    post: Operation<PolicyPreview, { body: { account: string; policy?: Record<string, unknown> } }>;
  };
  "/api/v1/policies/{name}": {
    put: Operation<Policy, { path: Named; body: Record<string, unknown> }>;
    delete: Operation<unknown, { path: Named }>;
  };
  "/api/v1/policies/{name}/enabled": {
    put: Operation<unknown, { path: Named; body: { enabled: boolean } }>;
  };
  "/api/v1/sessions": { get: Operation<Items<AnySession>, { query: { limit?: number; cursor?: string } }> };
  "/api/v1/keys": { get: Operation<Items<AnyKey>, { query: { limit?: number; cursor?: string } }> };
  "/api/v1/accounts": { post: Operation<unknown, { body: AccountRequest }> };
  "/api/v1/accounts/{name}": {
    put: Operation<unknown, { path: Named; body: AccountRequest }>;
    delete: Operation<unknown, { path: Named }>;
  };
  "/api/v1/accounts/{name}/members/{user}": {
    put: Operation<
      unknown,
      { path: { name: string; user: string }; body: { role: string; cap?: Resources } }
    >;
    delete: Operation<unknown, { path: { name: string; user: string } }>;
  };
}
