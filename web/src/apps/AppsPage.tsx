import { Code, Table, Text } from "@mantine/core";
import { IconApps } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { useMe } from "../app/session";
import { PageHeader } from "../ui/PageHeader";
import { YesNo } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { When } from "../ui/When";

/** What was made in the own namespace with kubectl: seen here, changed there. */
export function AppsPage() {
  const { t } = useTranslation();
  const me = useMe();
  const query = useQuery({
    queryKey: ["apps"],
    queryFn: () => take(client.GET("/api/v1/apps")),
    // Deployments are not in the stream of changes.
    refetchInterval: 15_000,
  });
  return (
    <>
      <PageHeader title={t("nav.apps")} text={t("apps.text")} />
      <Loaded query={query} missing="route">
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={IconApps} title={t("apps.none")}>
              {t("apps.noneText")}
              <Code block mt="sm" ta="left">
                kubectl -n {me.namespace} create deployment hello --image=busybox
              </Code>
            </Empty>
          ) : (
            <Rows
              label={t("nav.apps")}
              heads={[
                t("fields.name"),
                t("apps.kind"),
                t("fields.state"),
                t("fields.image"),
                t("fields.created"),
              ]}
            >
              {items.map((one) => (
                <Table.Tr key={`${one.kind}/${one.namespace}/${one.name}`}>
                  <Table.Td fw={600}>{one.name}</Table.Td>
                  <Table.Td>{one.kind}</Table.Td>
                  <Table.Td>
                    <YesNo
                      good={one.ready >= one.wanted}
                      yes={t("apps.ready", { ready: one.ready, wanted: one.wanted })}
                      no={t("apps.ready", { ready: one.ready, wanted: one.wanted })}
                    />
                  </Table.Td>
                  <Table.Td>
                    <Text size="sm" truncate maw={320}>
                      {one.image ?? "–"}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <When at={one.created} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </>
  );
}
