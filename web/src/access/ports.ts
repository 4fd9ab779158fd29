// Programs that listen in a workspace or a job: which there are, and what the reader may do with them.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { JobDetail, PortView, WorkspaceDetail } from "../api/types";
import { type Kind, type Work, workKey } from "../work/work";
import { once } from "./offer";

/** What has ports, with what is told of it. */
export type Behind = { kind: "workspaces"; work: WorkspaceDetail } | { kind: "jobs"; work: JobDetail };

export const portsKey = (kind: Kind, work: Work) => [...workKey(kind, work), "ports"];

export const portsQuery = (kind: Kind, { namespace, name }: Work) =>
  queryOptions({
    retryOnMount: once.retryOnMount,
    queryKey: portsKey(kind, { namespace, name }),
    queryFn: () =>
      take(client.GET(`/api/v1/${kind}/{namespace}/{name}/ports`, { params: { path: { namespace, name } } })),
  });

/** Says who may see a port, besides the owner; the answer has the link, if it is one. */
export const shareCall = (kind: Kind, { namespace, name }: Work, port: number, body: Sharing) =>
  take(
    client.PUT(`/api/v1/${kind}/{namespace}/{name}/ports/{port}/sharing`, {
      params: { path: { namespace, name, port: String(port) } },
      body,
    }),
  );

interface Sharing {
  kind: PortView["sharing"]["kind"];
  hours?: number;
}

/** Who looks at it. */
export interface Reader {
  /** It is his. */
  own: boolean;
  /** He looks after the account that pays for it, or after everything. */
  looksAfter: boolean;
}

type User = { namespace: string; platformAdmin: boolean; accounts: Record<string, string> };

export function readerOf(me: User, work: Pick<WorkspaceDetail, "namespace" | "account">): Reader {
  return {
    own: work.namespace === me.namespace,
    looksAfter: me.platformAdmin || me.accounts[work.account] === "admin",
  };
}

/** What to offer: the portal decides, pages leave out what it would refuse. */
export function offersOf(port: PortView, { own, looksAfter }: Reader) {
  const { kind } = port.sharing;
  return { open: own || kind === "account", share: own, end: kind !== "private" && (own || looksAfter) };
}

const programs: Partial<Record<Behind["work"]["type"], string>> = {
  Jupyter: "jupyter",
  CodeServer: "code-server",
};

/** The port of what work of this type is made for. */
export function programOf(type: Behind["work"]["type"], ports: PortView[]): PortView | undefined {
  return ports.find((one) => one.name && one.name === programs[type]);
}

/** What people call a program that a port is named for, where they call it otherwise. */
export function programTitle(name: string): string {
  return name === "jupyter" ? "Jupyter" : name;
}
