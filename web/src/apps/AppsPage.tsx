import { Button, Group, Table, Text } from "@mantine/core";
import { IconApps, IconBriefcase2, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { wholeList } from "../api/pages";
import { useMe } from "../app/session";
import { PageHeader } from "../ui/PageHeader";
import { YesNo } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { When } from "../ui/When";

/** What others set up in the own namespace: the rights that the portal gives out do not reach for making it. */
export function AppsPage() {
  const { t } = useTranslation();
  const me = useMe();
  const query = useQuery({
    queryKey: ["apps"],
    queryFn: () => wholeList((query) => take(client.GET("/api/v1/apps", { params: { query } }))),
  });
  return (
    <>
      <PageHeader title={t("nav.apps")} text={t("apps.text")} />
      <Loaded query={query} missing="route">
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={IconApps} title={t("apps.none")} action={<Instead />}>
              {t("apps.noneText", { namespace: me.namespace })}
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

/** What people may start by themselves. */
function Instead() {
  const { t } = useTranslation();
  return (
    <Group gap="xs" justify="center">
      <Button component={Link} to="/jobs/new" variant="default" leftSection={<IconBriefcase2 size={18} />}>
        {t("jobs.new")}
      </Button>
      <Button component={Link} to="/workspaces/new" leftSection={<IconPlus size={18} />}>
        {t("workspaces.new")}
      </Button>
    </Group>
  );
}
