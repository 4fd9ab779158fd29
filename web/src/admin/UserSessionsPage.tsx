import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SessionTable } from "../settings/SessionTable";
import { EndButton } from "../ui/EndButton";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { useUser } from "./user";

/** Where a user is signed in. */
export function UserSessionsPage() {
  const { t } = useTranslation();
  const { id, name } = useUser();
  const params = { path: { id } };
  const query = useQuery({
    queryKey: ["sessions", id],
    queryFn: () =>
      take(client.GET("/api/v1/users/{id}/sessions", { params: { ...params, query: { limit: 100 } } })),
  });
  return (
    <>
      <PageHeader
        title={name ? t("users.sessionsOf", { name }) : t("users.sessions")}
        above={{ title: t("nav.users"), to: "/admin/users" }}
        actions={
          <EndButton
            label={t("users.endSessions")}
            title={t("users.endSessionsTitle")}
            run={() => client.DELETE("/api/v1/users/{id}/sessions", { params })}
            done={t("users.sessionsEnded")}
            changes={[["sessions"]]}
            look={{ variant: "default" }}
          >
            {t("users.endSessionsText")}
          </EndButton>
        }
      />
      <Panel>
        <Loaded query={query}>{({ items }) => <SessionTable items={items} />}</Loaded>
      </Panel>
    </>
  );
}
