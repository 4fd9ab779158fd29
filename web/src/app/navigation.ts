import {
  IconApps,
  IconBook2,
  IconBriefcase2,
  IconBuildingBank,
  IconCalendarTime,
  IconDatabase,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutGrid,
  IconServer2,
  IconTerminal2,
  IconUsers,
} from "@tabler/icons-react";
import type { Me } from "../api/types";
import { administers } from "./session";

export interface Place {
  to: string;
  text:
    | "nav.home"
    | "nav.workspaces"
    | "nav.jobs"
    | "nav.cards"
    | "nav.templates"
    | "nav.volumes"
    | "nav.apps"
    | "nav.nodes"
    | "nav.users"
    | "nav.accounts"
    | "nav.policies"
    | "nav.audit"
    | "nav.sessions";
  icon: typeof IconHome;
}

export const places: Place[] = [
  { to: "/", text: "nav.home", icon: IconHome },
  { to: "/workspaces", text: "nav.workspaces", icon: IconTerminal2 },
  { to: "/jobs", text: "nav.jobs", icon: IconBriefcase2 },
  { to: "/cards", text: "nav.cards", icon: IconLayoutGrid },
  { to: "/templates", text: "nav.templates", icon: IconBook2 },
  { to: "/volumes", text: "nav.volumes", icon: IconDatabase },
  { to: "/apps", text: "nav.apps", icon: IconApps },
];

/** What administrators see besides; those of an account only what is theirs. */
export function adminPlaces(me: Me): Place[] {
  const accounts: Place = { to: "/admin/accounts", text: "nav.accounts", icon: IconBuildingBank };
  if (!me.platformAdmin) return administers(me) ? [accounts] : [];
  return [
    { to: "/admin/nodes", text: "nav.nodes", icon: IconServer2 },
    { to: "/admin/users", text: "nav.users", icon: IconUsers },
    accounts,
    { to: "/admin/policies", text: "nav.policies", icon: IconCalendarTime },
    { to: "/admin/sessions", text: "nav.sessions", icon: IconKey },
    { to: "/admin/audit", text: "nav.audit", icon: IconHistory },
  ];
}
