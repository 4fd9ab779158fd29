// What becomes of a template in the form: it shows a part of it, and only what was changed there changes. Pure.
import type { NewWorkspace } from "../api/types";
import { isShown, requestOf, type WorkspaceValues } from "./form";

type Body = Record<string, unknown>;

/** A template, and how the form showed it at first. */
export interface Origin {
  id: string;
  body: Body;
  before: WorkspaceValues;
}

/** The fields of a request that a field of the form is about. */
const about: Record<keyof WorkspaceValues, string[]> = {
  name: [],
  type: ["type"],
  image: ["image"],
  account: ["account"],
  serviceLevel: ["serviceLevel"],
  cpu: ["cpu"],
  memory: ["memory"],
  cards: ["cards"],
  pool: ["pools"],
  node: ["nodes"],
  volumes: ["volumes"],
  mounts: ["mounts"],
  env: ["env"],
  // The line shows both, and another one replaces both.
  command: ["command", "args"],
  profile: ["profile"],
  hostPaths: ["hostPaths"],
  maxRunHours: ["maxRunSeconds"],
};

/** Fields that the form has an input for. */
const inputs = new Set(
  Object.entries(about).flatMap(([field, names]) => (field === "serviceLevel" ? [] : names)),
);

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const hidden = (mounts: unknown) =>
  (Array.isArray(mounts) ? (mounts as { claim?: unknown }[]) : []).filter((one) => !isShown(one));

function changed({ before }: Origin, values: WorkspaceValues): string[] {
  const fields = Object.keys(about) as (keyof WorkspaceValues)[];
  return fields.filter((field) => !same(before[field], values[field])).flatMap((field) => about[field]);
}

/** What a template holds after the form: what was not touched, or is not shown there, stays as it was. */
export function templateOf(values: WorkspaceValues, origin?: Origin): Body {
  const { name: _name, ...said } = requestOf(values) as unknown as Body;
  if (!origin) return said;
  const { name: _old, ...after } = origin.body;
  const others = hidden(origin.body.mounts);
  if (others.length) said.mounts = [...((said.mounts as unknown[] | undefined) ?? []), ...others];
  for (const field of changed(origin, values)) {
    delete after[field];
    if (said[field] !== undefined) after[field] = said[field];
  }
  return after;
}

/** Fields that a request unsays by null; the others are lists. */
const single = new Set(["account", "cards", "profile", "maxRunSeconds"]);

/** Over an object the portal lays what is said of it part by part, so that parts that are gone have to be named. */
function over(before: unknown, after: unknown): unknown {
  if (typeof before !== "object" || before === null || Array.isArray(before)) return after;
  const gone = Object.keys(before).map((part) => [part, null]);
  return { ...Object.fromEntries(gone), ...(after as object) };
}

/** The request that begins from a template: which one, and what was changed. */
export function requestFrom(origin: Origin, values: WorkspaceValues): NewWorkspace {
  const after = templateOf(values, origin);
  const { name } = values;
  const kept = (after.env ?? {}) as Body;
  // No request can take a variable away from a template: all of it is said, then.
  if (Object.keys((origin.body.env as Body | undefined) ?? {}).some((variable) => !(variable in kept))) {
    return { ...after, name } as unknown as NewWorkspace;
  }
  const said = changed(origin, values).map((field) => {
    const none = single.has(field) ? null : [];
    return [field, after[field] === undefined ? none : over(origin.body[field], after[field])];
  });
  return { template: origin.id, name, ...Object.fromEntries(said) } as NewWorkspace;
}

/** What of a template the form does not show. */
export function unseen(body: Body): string[] {
  const fields = Object.keys(body).filter((field) => field !== "name" && !inputs.has(field));
  const length = (list: unknown) => (Array.isArray(list) ? list.length : 0);
  // Arguments stand in the line of the command, where there is one.
  if (length(body.args) && !length(body.command)) fields.push("args");
  if (hidden(body.mounts).length) fields.push("mounts");
  return fields;
}
