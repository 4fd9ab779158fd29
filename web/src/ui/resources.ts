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
