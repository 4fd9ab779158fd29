import { useTranslation } from "react-i18next";
import { cardTitle } from "./format";

/** What a resource is called by people. */
export function useResourceTitle(): (resource: string) => string {
  const { t } = useTranslation();
  return (resource) => {
    const bare = resource.replace(/^(requests|limits|count)[./]/, "");
    if (bare === "cpu") return t("resources.cpu");
    if (bare === "memory") return t("resources.memory");
    if (bare === "pods") return t("resources.pods");
    if (bare.endsWith("storage")) return t("resources.storage");
    if (bare.startsWith("persistentvolumeclaims")) return t("resources.volumes");
    if (bare.startsWith("workspaces")) return t("nav.workspaces");
    return cardTitle(bare);
  };
}
