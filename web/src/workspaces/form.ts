// The form of a new workspace: what it begins with, what is wrong with it, and the request it becomes. Pure.
import type { NewWorkspace } from "../api/types";
import {
  type CardValues,
  cardsOf,
  commandOf,
  type Fault,
  faultOfAmount,
  faultOfCards,
  faultOfName,
  faultOfPath,
  faultOfVariable,
  type MountValues,
  noCards,
  type Pair,
  rowFaults,
} from "../forms/values";
import { parseQuantity } from "../ui/format";

export interface VolumeValues {
  name: string;
  path: string;
  size: string;
}

export interface WorkspaceValues {
  name: string;
  type: "Terminal" | "Jupyter" | "CodeServer";
  image: string;
  account: string;
  serviceLevel: string;
  cpu: string;
  memory: string;
  cards: CardValues;
  pool: string;
  node: string;
  volumes: VolumeValues[];
  mounts: MountValues[];
  env: Pair[];
  command: string;
  maxRunHours: number | string;
}

export const initialValues: WorkspaceValues = {
  name: "",
  type: "Terminal",
  image: "",
  account: "",
  serviceLevel: "",
  cpu: "1",
  memory: "4Gi",
  cards: noCards,
  pool: "",
  node: "",
  volumes: [],
  mounts: [],
  env: [],
  command: "",
  maxRunHours: "",
};

export function faultsOf(values: WorkspaceValues): Record<string, Fault> {
  const faults: Record<string, Fault | undefined> = {
    name: faultOfName(values.name, 50),
    image: values.image.trim() ? undefined : "required",
    cpu: faultOfAmount(values.cpu),
    memory: faultOfAmount(values.memory),
    [values.cards.how === "count" ? "cards.count" : "cards.share"]: faultOfCards(values.cards),
    ...rowFaults("volumes", values.volumes, (row) => ({
      name: faultOfName(row.name, 12),
      path: faultOfPath(row.path),
      size: faultOfAmount(row.size),
    })),
    ...rowFaults("mounts", values.mounts, (row) => ({
      claim: row.claim ? undefined : "required",
      path: faultOfPath(row.path),
    })),
    ...rowFaults("env", values.env, (row) => ({ name: faultOfVariable(row.name) })),
  };
  const paths = [...values.volumes, ...values.mounts].map((row) => row.path.replace(/\/+$/, ""));
  values.mounts.forEach((row, index) => {
    const same = paths.filter((path) => path === row.path.replace(/\/+$/, ""));
    if (same.length > 1) faults[`mounts.${index}.path`] ??= "twice";
  });
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault)) as Record<string, Fault>;
}

export function requestOf(values: WorkspaceValues): NewWorkspace {
  const hours = Number(values.maxRunHours);
  const request: Record<string, unknown> = {
    name: values.name,
    image: values.image.trim(),
    type: values.type,
    cpu: values.cpu.trim(),
    memory: values.memory.trim(),
    account: values.account || undefined,
    serviceLevel: values.serviceLevel || undefined,
    cards: cardsOf(values.cards),
    pools: values.pool ? [values.pool] : undefined,
    nodes: values.node ? [values.node] : undefined,
    volumes: values.volumes.length ? values.volumes : undefined,
    mounts: values.mounts.length ? values.mounts : undefined,
    env: values.env.length ? Object.fromEntries(values.env.map((one) => [one.name, one.value])) : undefined,
    command: commandOf(values.command),
    maxRunSeconds: hours > 0 ? Math.round(hours * 3600) : undefined,
  };
  for (const [field, value] of Object.entries(request)) if (value === undefined) delete request[field];
  return request as unknown as NewWorkspace;
}

/** What the form asks for, as the request names it. */
const known = new Set([
  "name",
  "image",
  "type",
  "cpu",
  "memory",
  "account",
  "serviceLevel",
  "cards",
  "pools",
  "nodes",
  "volumes",
  "mounts",
  "env",
  "command",
  "maxRunSeconds",
]);

/** What a template holds after the form; what the form does not know of it stays as it was. */
export function templateOf(
  values: WorkspaceValues,
  before: Record<string, unknown> = {},
): Record<string, unknown> {
  const { name: _name, ...said } = requestOf(values);
  const kept = Object.entries(before).filter(([field]) => !known.has(field));
  const others = rowsOf<MountValues>(before.mounts).filter((one) => !one.claim);
  const mounts = [...(said.mounts ?? []), ...others];
  return { ...Object.fromEntries(kept), ...said, ...(mounts.length ? { mounts } : {}) };
}

const rowsOf = <Row>(value: unknown) => (Array.isArray(value) ? (value as Row[]) : []);
const text = (value: unknown, otherwise = "") => (typeof value === "string" ? value : otherwise);

/** The values of a template. Templates may have been written by hand: what does not fit is left as it was. */
export function valuesOf(body: Record<string, unknown>): Partial<WorkspaceValues> {
  const cards = body.cards as Partial<Record<"resource" | "count" | "share", unknown>> | undefined;
  const command = Array.isArray(body.command) ? (body.command as string[]) : [];
  const shell = command[0] === "sh" && command[1] === "-c";
  const type = ["Terminal", "Jupyter", "CodeServer"].includes(text(body.type)) ? body.type : "Terminal";
  return {
    type: type as WorkspaceValues["type"],
    image: text(body.image),
    account: text(body.account),
    serviceLevel: text(body.serviceLevel),
    cpu: body.cpu === undefined ? "1" : String(body.cpu),
    memory: body.memory === undefined ? "4Gi" : String(body.memory),
    cards: cards
      ? {
          resource: text(cards.resource, "nvidia.com/gpu"),
          how: cards.count === undefined ? "share" : "count",
          count: Number(cards.count ?? 1),
          share: parseQuantity(cards.share as string | undefined) ?? 0.5,
        }
      : noCards,
    pool: text(rowsOf<string>(body.pools)[0]),
    node: text(rowsOf<string>(body.nodes)[0]),
    volumes: rowsOf<VolumeValues>(body.volumes).map(({ name, path, size }) => ({
      name,
      path,
      size: String(size),
    })),
    mounts: rowsOf<MountValues>(body.mounts)
      .filter((one) => one.claim)
      .map(({ claim, path, readOnly }) => ({ claim, path, readOnly: readOnly === true })),
    env: Object.entries((body.env as Record<string, string> | undefined) ?? {}).map(([name, value]) => ({
      name,
      value: String(value),
    })),
    command: shell ? (command[2] ?? "") : command.join(" "),
    maxRunHours: typeof body.maxRunSeconds === "number" ? body.maxRunSeconds / 3600 : "",
  };
}

/** The field of the form that a field of the request is about, so that the portal's word stands where it belongs. */
export function fieldOf(field: string): string | undefined {
  const path = field.replace(/\[(\d+)\]/g, ".$1").replace(/^spec\./, "");
  const first = path.split(".")[0] ?? "";
  if (path === "cards" || path === "cards.resource") return "cards.resource";
  if (first === "env") return undefined;
  if (path === "pools" || path.startsWith("pools.")) return "pool";
  if (path === "nodes" || path.startsWith("nodes.")) return "node";
  if (path === "maxRunSeconds") return "maxRunHours";
  if (path === "volumes" || path === "mounts") return undefined;
  return first in initialValues ? path : undefined;
}
