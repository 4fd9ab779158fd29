import { Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconBook2, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { templatesQuery } from "../api/shared";
import type { TemplateView } from "../api/types";
import { useMe } from "../app/session";
import { Confirm } from "../ui/Confirm";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";
import { mayChange } from "./rights";

export function TemplatesPage() {
  const { t } = useTranslation();
  const query = useQuery(templatesQuery());
  return (
    <>
      <PageHeader title={t("nav.templates")} text={t("templates.text")} />
      <Loaded query={query} missing="route">
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              icon={IconBook2}
              title={t("templates.none")}
              action={
                <Button component={Link} to="/workspaces/new">
                  {t("workspaces.new")}
                </Button>
              }
            >
              {t("templates.noneText")}
            </Empty>
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="lg">
              {items.map((one) => (
                <OneTemplate key={one.id} template={one} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </>
  );
}

function OneTemplate({ template }: { template: TemplateView }) {
  const { t } = useTranslation();
  const me = useMe();
  const [asking, setAsking] = useState(false);
  const remove = useAction({
    run: () => client.DELETE("/api/v1/templates/{id}", { params: { path: { id: template.id } } }),
    done: t("templates.deleted", { name: template.name }),
    changes: [["templates"]],
    onDone: () => setAsking(false),
  });
  const job = template.kind === "job";
  const to = job ? "/jobs/new" : "/workspaces/new";
  return (
    <Panel>
      <Stack justify="space-between" h="100%" gap="md">
        <div>
          <Text fw={600}>{template.name}</Text>
          <Text size="xs" c="dimmed" mb="xs">
            {job ? t("home.job") : t("home.workspace")} ·{" "}
            {template.account ? t("templates.account", { account: template.account }) : t("templates.onlyMe")}
          </Text>
          <Text size="sm" lineClamp={3}>
            {template.description}
          </Text>
        </div>
        <Group justify="space-between">
          <Button
            component={Link}
            to={to}
            search={{ template: template.id } as never}
            variant="light"
            size="xs"
            leftSection={<IconPlus size={14} />}
          >
            {t("templates.use")}
          </Button>
          {mayChange(me, template) && (
            <Group gap={4} wrap="nowrap">
              <Button
                component={Link}
                to={to}
                search={{ template: template.id, edit: true } as never}
                variant="subtle"
                size="compact-sm"
              >
                {t("actions.edit")}
              </Button>
              <Button variant="subtle" color="red" size="compact-sm" onClick={() => setAsking(true)}>
                {t("actions.delete")}
              </Button>
            </Group>
          )}
        </Group>
      </Stack>
      <Confirm
        opened={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t("templates.deleteTitle", { name: template.name })}
        confirm={t("actions.delete")}
      >
        {template.account
          ? t("templates.deleteShared", { account: template.account })
          : t("templates.deleteText")}
      </Confirm>
    </Panel>
  );
}
