import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { SessionTable } from "./SessionTable";

export function SessionsPanel() {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: ["sessions", "mine"],
    queryFn: () => take(client.GET("/api/v1/me/sessions", { params: { query: { limit: 100 } } })),
  });
  return (
    <Panel title={t("sessions.title")}>
      <Loaded query={query}>{({ items }) => <SessionTable items={items} />}</Loaded>
    </Panel>
  );
}
