import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SessionTable } from "../settings/SessionTable";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";

/** Where a user is signed in. */
export function UserSessionsPage() {
  const { t } = useTranslation();
  const { user } = useParams({ strict: false }) as { user: string };
  const params = { path: { id: user } };
  const query = useQuery({
    queryKey: ["sessions", user],
    queryFn: () =>
      take(client.GET("/api/v1/users/{id}/sessions", { params: { ...params, query: { limit: 100 } } })),
  });
  const end = useAction({
    run: () => client.DELETE("/api/v1/users/{id}/sessions", { params }),
    done: t("users.sessionsEnded"),
    changes: [["sessions"]],
  });
  return (
    <>
      <PageHeader
        title={t("users.sessions")}
        above={{ title: t("nav.users"), to: "/admin/users" }}
        actions={
          <Button variant="default" color="red" loading={end.isPending} onClick={() => end.mutate()}>
            {t("users.endSessions")}
          </Button>
        }
      />
      <Panel>
        <Loaded query={query}>{({ items }) => <SessionTable items={items} />}</Loaded>
      </Panel>
    </>
  );
}
