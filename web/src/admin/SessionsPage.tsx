import { Button, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { agentTitle } from "../settings/agent";
import { EndKey } from "../settings/KeysPanel";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { useAction } from "../ui/useAction";
import { When } from "../ui/When";

const first = undefined as string | undefined;

/** Who is signed in, and which keys programs hold. */
export function SessionsPage() {
  const { t } = useTranslation();
  return (
    <>
      <PageHeader title={t("nav.sessions")} text={t("oversight.text")} />
      <Stack gap="lg">
        <Sessions />
        <Keys />
      </Stack>
    </>
  );
}

function Sessions() {
  const { t } = useTranslation();
  const query = useInfiniteQuery({
    queryKey: ["sessions", "all"],
    initialPageParam: first,
    queryFn: ({ pageParam: cursor }) =>
      take(client.GET("/api/v1/sessions", { params: { query: { limit: 100, cursor } } })),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const end = useAction({
    run: (id: string) => client.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } }),
    done: t("sessions.ended"),
    changes: [["sessions"]],
  });
  return (
    <Panel title={t("oversight.sessions")}>
      <Loaded query={query} missing="route">
        {({ pages }) => (
          <Rows
            label={t("oversight.sessions")}
            heads={[
              t("fields.user"),
              t("sessions.browser"),
              t("sessions.address"),
              t("sessions.lastSeen"),
              "",
            ]}
          >
            {pages
              .flatMap((page) => page.items)
              .filter((one) => !one.revoked && new Date(one.expires) > new Date())
              .map((one) => (
                <Table.Tr key={one.id}>
                  <Table.Td fw={600}>{one.user}</Table.Td>
                  <Table.Td>
                    <Text size="sm">{agentTitle(one.agent) ?? t("sessions.unknown")}</Text>
                    <Text size="xs" c="dimmed">
                      {one.provider}
                    </Text>
                  </Table.Td>
                  <Table.Td>{one.address ?? "–"}</Table.Td>
                  <Table.Td>
                    <When at={one.lastSeen} />
                  </Table.Td>
                  <Table.Td>
                    <Button size="xs" variant="subtle" color="red" onClick={() => end.mutate(one.id)}>
                      {t("sessions.end")}
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
          </Rows>
        )}
      </Loaded>
      <More query={query} />
    </Panel>
  );
}

function Keys() {
  const { t } = useTranslation();
  const query = useInfiniteQuery({
    queryKey: ["keys", "all"],
    initialPageParam: first,
    queryFn: ({ pageParam: cursor }) =>
      take(client.GET("/api/v1/keys", { params: { query: { limit: 100, cursor } } })),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  return (
    <Panel title={t("keys.title")}>
      <Loaded query={query} missing="route">
        {({ pages }) => {
          const keys = pages.flatMap((page) => page.items).filter((one) => !one.revoked);
          if (keys.length === 0) return <Text size="sm">{t("keys.none")}</Text>;
          return (
            <Rows
              label={t("keys.title")}
              heads={[
                t("fields.user"),
                t("fields.name"),
                t("keys.scopes"),
                t("keys.lastUsed"),
                t("keys.expires"),
                "",
              ]}
            >
              {keys.map((one) => (
                <Table.Tr key={one.id}>
                  <Table.Td fw={600}>{one.user}</Table.Td>
                  <Table.Td>{one.name}</Table.Td>
                  <Table.Td>
                    <Text size="xs">{one.scopes.join(", ")}</Text>
                  </Table.Td>
                  <Table.Td>
                    <When at={one.lastUsed} none={t("keys.never")} />
                  </Table.Td>
                  <Table.Td>
                    <When at={one.expires} />
                  </Table.Td>
                  <Table.Td>
                    <EndKey id={one.id} name={one.name} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </Panel>
  );
}
