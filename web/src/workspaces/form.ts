// The form of a new workspace: what it begins with, what is wrong with it, and the request it becomes. Pure.
import type { NewWorkspace, ProfileView } from "../api/types";
import {
  type CardValues,
  cardsOf,
  cardValuesOf,
  commandOf,
  type Fault,
  faultOfAmount,
  faultOfCards,
  faultOfIndices,
  faultOfName,
  faultOfPath,
  faultOfVariable,
  lineOf,
  type MountValues,
  noCards,
  type Pair,
  rowFaults,
} from "../forms/values";

/** A volume; what else a template says of it stays with it. */
export interface VolumeValues {
  name: string;
  path: string;
  size: string;
}

/** A folder of the node that a profile grants, or one below it. */
export interface HostPathValues {
  hostPath: string;
  path: string;
  readOnly: boolean;
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
  /** One, or several with commas between them, as a template may say. */
  pool: string;
  node: string;
  volumes: VolumeValues[];
  mounts: MountValues[];
  env: Pair[];
  command: string;
  profile: string;
  hostPaths: HostPathValues[];
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
  profile: "",
  hostPaths: [],
  maxRunHours: "",
};

/** Profiles that work has which this account pays for. */
export const usable = (profiles: ProfileView[], account: string) =>
  profiles.filter((one) => one.always || one.accounts.includes(account || "default"));

export function faultsOf(values: WorkspaceValues): Record<string, Fault> {
  const faults: Record<string, Fault | undefined> = {
    name: faultOfName(values.name, 50),
    image: values.image.trim() ? undefined : "required",
    cpu: faultOfAmount(values.cpu),
    memory: faultOfAmount(values.memory),
    [`cards.${values.cards.how}`]: faultOfCards(values.cards),
    "cards.indices": faultOfIndices(values.cards),
    ...rowFaults("volumes", values.volumes, (row) => ({
      name: faultOfName(row.name, 12),
      path: faultOfPath(row.path),
      size: faultOfAmount(row.size),
    })),
    ...rowFaults("mounts", values.mounts, (row) => ({
      claim: row.claim ? undefined : "required",
      path: faultOfPath(row.path),
    })),
    ...(values.profile
      ? rowFaults("hostPaths", values.hostPaths, (row) => ({
          hostPath: faultOfPath(row.hostPath),
          path: faultOfPath(row.path),
        }))
      : {}),
    ...rowFaults("env", values.env, (row) => ({ name: faultOfVariable(row.name) })),
  };
  const folders = values.profile ? values.hostPaths : [];
  const paths = [...values.volumes, ...values.mounts, ...folders].map((row) => row.path.replace(/\/+$/, ""));
  values.mounts.forEach((row, index) => {
    const same = paths.filter((path) => path === row.path.replace(/\/+$/, ""));
    if (same.length > 1) faults[`mounts.${index}.path`] ??= "twice";
  });
  folders.forEach((row, index) => {
    const same = paths.filter((path) => path === row.path.replace(/\/+$/, ""));
    if (same.length > 1) faults[`hostPaths.${index}.path`] ??= "twice";
  });
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault)) as Record<string, Fault>;
}

const namesOf = (text: string) => (text ? text.split(",") : undefined);

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
    pools: namesOf(values.pool),
    nodes: namesOf(values.node),
    volumes: values.volumes.length ? values.volumes : undefined,
    mounts: values.mounts.length ? values.mounts : undefined,
    env: values.env.length ? Object.fromEntries(values.env.map((one) => [one.name, one.value])) : undefined,
    command: commandOf(values.command),
    profile: values.profile.trim() || undefined,
    // Without a profile nothing of the node is asked for.
    hostPaths: values.profile.trim() && values.hostPaths.length ? values.hostPaths : undefined,
    maxRunSeconds: hours > 0 ? Math.round(hours * 3600) : undefined,
  };
  for (const [field, value] of Object.entries(request)) if (value === undefined) delete request[field];
  return request as unknown as NewWorkspace;
}

const rowsOf = <Row>(value: unknown) => (Array.isArray(value) ? (value as Row[]) : []);
const text = (value: unknown, otherwise = "") => (typeof value === "string" ? value : otherwise);

/** Mounts that the form shows; secrets and others stay as they are. */
export const isShown = (mount: { claim?: unknown }) => Boolean(mount.claim);

/** What is run, as one line; what only adds arguments to what the image runs is no command. */
function commandLine(command: string[], args: string[]): string {
  const [shell, flag, line] = command;
  if (shell === "sh" && flag === "-c" && command.length === 3 && args.length === 0) return line ?? "";
  return command.length ? lineOf([...command, ...args]) : "";
}

/** The values of a template. Templates may have been written by hand: what does not fit is left as it was. */
export function valuesOf(body: Record<string, unknown>): Partial<WorkspaceValues> {
  const type = ["Terminal", "Jupyter", "CodeServer"].includes(text(body.type)) ? body.type : "Terminal";
  return {
    type: type as WorkspaceValues["type"],
    image: text(body.image),
    account: text(body.account),
    serviceLevel: text(body.serviceLevel),
    cpu: body.cpu == null ? "1" : String(body.cpu),
    memory: body.memory == null ? "4Gi" : String(body.memory),
    cards: cardValuesOf(body.cards as Record<string, unknown> | undefined),
    pool: rowsOf<string>(body.pools).join(","),
    node: rowsOf<string>(body.nodes).join(","),
    volumes: rowsOf<VolumeValues>(body.volumes).map((one) => ({ ...one, size: String(one.size) })),
    mounts: rowsOf<MountValues>(body.mounts)
      .filter(isShown)
      .map((one) => ({ ...one, readOnly: one.readOnly === true })),
    env: Object.entries((body.env as Record<string, string> | undefined) ?? {}).map(([name, value]) => ({
      name,
      value: String(value),
    })),
    command: commandLine(rowsOf<string>(body.command), rowsOf<string>(body.args)),
    profile: text(body.profile),
    hostPaths: rowsOf<HostPathValues>(body.hostPaths).map((one) => ({
      ...one,
      readOnly: one.readOnly === true,
    })),
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
  if (["volumes", "mounts", "hostPaths"].includes(path)) return undefined;
  return first in initialValues ? path : undefined;
}
