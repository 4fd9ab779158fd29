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
}
