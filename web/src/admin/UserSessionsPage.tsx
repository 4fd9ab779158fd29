import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SessionTable } from "../settings/SessionTable";
import { Confirm } from "../ui/Confirm";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";

/** Where a user is signed in. */
export function UserSessionsPage() {
  const { t } = useTranslation();
  const { user } = useParams({ strict: false }) as { user: string };
  // Whose they are is said by the page that leads here: the portal tells users by lists only.
  const { name } = useSearch({ strict: false }) as { name?: unknown };
  const whose = typeof name === "string" ? name : undefined;
  const [asking, question] = useDisclosure();
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
    onDone: question.close,
  });
  return (
    <>
      <PageHeader
        title={whose ? t("users.sessionsOf", { name: whose }) : t("users.sessions")}
        above={{ title: t("nav.users"), to: "/admin/users" }}
        actions={
          <Button variant="default" color="red" onClick={question.open}>
            {t("users.endSessions")}
          </Button>
        }
      />
      <Panel>
        <Loaded query={query}>{({ items }) => <SessionTable items={items} />}</Loaded>
      </Panel>
      <Confirm
        opened={asking}
        onClose={question.close}
        onConfirm={() => end.mutate()}
        busy={end.isPending}
        danger
        title={t("users.endSessionsTitle")}
        confirm={t("users.endSessions")}
      >
        {t("users.endSessionsText")}
      </Confirm>
    </>
  );
}
