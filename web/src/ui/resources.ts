import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { cardTitle } from "./format";

const titles = [
  [/^cpu$/, "resources.cpu"],
  [/^memory$/, "resources.memory"],
  [/^pods$/, "resources.pods"],
  [/storage$/, "resources.storage"],
  [/^(persistentvolumeclaims|volumes)/, "resources.volumes"],
  [/^workspaces/, "nav.workspaces"],
  [/^(ai)?jobs/, "nav.jobs"],
] as const;

const order = [/\//, /^workspaces$/, /^cpu$/, /^memory$/, /^pods$/];

/** Amounts as people look for them: cards and devices, workspaces, cores, memory, Pods, and the rest. */
export function inOrder<Amount>(amounts: [string, Amount][]): [string, Amount][] {
  const rank = (resource: string) => {
    const found = order.findIndex((pattern) => pattern.test(resource));
    return found < 0 ? order.length : found;
  };
  return [...amounts].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
}

/** What a resource is called by people. */
export function resourceTitle(resource: string, t: TFunction): string {
  const bare = resource.replace(/^(requests|limits|count)[./]/, "");
  const known = titles.find(([pattern]) => pattern.test(bare));
  return known ? t(known[1]) : cardTitle(bare);
}

export function useResourceTitle(): (resource: string) => string {
  const { t } = useTranslation();
  return (resource) => resourceTitle(resource, t);
}
