import { Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { KeyTable } from "../settings/KeyTable";
import { SessionTable } from "../settings/SessionTable";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";

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
  return (
    <Panel title={t("oversight.sessions")}>
      <Loaded query={query} missing="route">
        {({ pages }) => <SessionTable items={pages.flatMap((page) => page.items)} users />}
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
          return <KeyTable items={keys} users />;
        }}
      </Loaded>
      <More query={query} />
    </Panel>
  );
}
