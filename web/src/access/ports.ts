// Programs that listen in a workspace: which there are, and what the reader may do with them.
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "../api/client";
import type { PortView, WorkspaceDetail } from "../api/types";
import { type Work, workKey } from "../work/work";
import { once } from "./offer";

export const portsKey = (workspace: Work) => [...workKey("workspaces", workspace), "ports"];

export const portsQuery = ({ namespace, name }: Work) =>
  queryOptions({
    retryOnMount: once.retryOnMount,
    queryKey: portsKey({ namespace, name }),
    queryFn: () =>
      take(
        client.GET("/api/v1/workspaces/{namespace}/{name}/ports", { params: { path: { namespace, name } } }),
      ),
  });

/** Says who may see a port, besides the owner; the answer has the link, if it is one. */
export const shareCall = ({ namespace, name }: Work, port: number, body: Sharing) =>
  take(
    client.PUT("/api/v1/workspaces/{namespace}/{name}/ports/{port}/sharing", {
      params: { path: { namespace, name, port: String(port) } },
      body,
    }),
  );

interface Sharing {
  kind: PortView["sharing"]["kind"];
  hours?: number;
}

/** Who looks at a workspace. */
export interface Reader {
  /** It is his. */
  own: boolean;
  /** He looks after the account that pays for it, or after everything. */
  looksAfter: boolean;
}

type User = { namespace: string; platformAdmin: boolean; accounts: Record<string, string> };

export function readerOf(me: User, workspace: Pick<WorkspaceDetail, "namespace" | "account">): Reader {
  return {
    own: workspace.namespace === me.namespace,
    looksAfter: me.platformAdmin || me.accounts[workspace.account] === "admin",
  };
}

/** What to offer: the portal decides, pages leave out what it would refuse. */
export function offersOf(port: PortView, { own, looksAfter }: Reader) {
  const { kind } = port.sharing;
  return { open: own || kind === "account", share: own, end: kind !== "private" && (own || looksAfter) };
}

const programs = { Terminal: undefined, Jupyter: "jupyter", CodeServer: "code-server" } as const;

/** The port of what a workspace of this type is made for. */
export function programOf(type: WorkspaceDetail["type"], ports: PortView[]): PortView | undefined {
  return ports.find((one) => one.name && one.name === programs[type]);
}

/** What people call a program that a port is named for, where they call it otherwise. */
export function programTitle(name: string): string {
  return name === "jupyter" ? "Jupyter" : name;
}
