import { Badge, Button, Group, Stack, Switch, Text } from "@mantine/core";
import { IconCalendarTime, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { wholeList } from "../api/pages";
import type { Policy } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";
import { PolicyForm } from "./PolicyForm";
import { PolicyPreview } from "./PolicyPreview";
import { rulesOf } from "./policy";

export function PoliciesPage() {
  const { t } = useTranslation();
  const [editing, setEditing] = useState<Partial<Policy>>();
  const query = useQuery({
    queryKey: ["policies"],
    queryFn: () => wholeList((query) => take(client.GET("/api/v1/policies", { params: { query } }))),
  });
  const create = (
    <Button leftSection={<IconPlus size={18} />} onClick={() => setEditing({})}>
      {t("policies.new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("nav.policies")} text={t("policies.text")} actions={query.data && create} />
      <Loaded query={query} missing="route">
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={IconCalendarTime} title={t("policies.none")} action={create}>
              {t("policies.noneText")}
            </Empty>
          ) : (
            <Stack gap="lg">
              {items.map((one) => (
                <OnePolicy key={one.account} policy={one} onEdit={() => setEditing(one)} />
              ))}
            </Stack>
          )
        }
      </Loaded>
      <Dialog
        opened={editing !== undefined}
        onClose={() => setEditing(undefined)}
        title={editing?.account ? t("policies.edit") : t("policies.new")}
        size="lg"
      >
        {editing && <PolicyForm policy={editing} onDone={() => setEditing(undefined)} />}
      </Dialog>
    </>
  );
}

function OnePolicy({ policy, onEdit }: { policy: Policy; onEdit: () => void }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState<"enable" | "delete">();
  const params = { path: { name: policy.account } };
  const disable = useAction({
    run: () => client.PUT("/api/v1/policies/{name}/enabled", { params, body: { enabled: false } }),
    done: t("policies.changed"),
    changes: [["policies"]],
  });
  const remove = useAction({
    run: () => client.DELETE("/api/v1/policies/{name}", { params }),
    done: t("policies.deleted"),
    changes: [["policies"]],
    onDone: () => setAsking(undefined),
  });
  return (
    <Panel>
      <Group justify="space-between" align="flex-start">
        <div>
          <Text fw={600}>{policy.account}</Text>
          <Group gap="xs" mt="xs">
            {rulesOf(policy.policy).map((rule) => (
              <Badge key={rule.kind} variant="light" tt="none">
                {t(`policies.rules.${rule.kind}`, rule.values)}
              </Badge>
            ))}
          </Group>
        </div>
        <Group>
          <Switch
            label={policy.enabled ? t("policies.on") : t("policies.off")}
            checked={policy.enabled}
            // What it would do is shown before it is switched on; switching off needs no second thought.
            onChange={() => (policy.enabled ? disable.mutate() : setAsking("enable"))}
          />
          <Button variant="default" size="xs" onClick={onEdit}>
            {t("actions.edit")}
          </Button>
          <Button variant="subtle" color="red" size="xs" onClick={() => setAsking("delete")}>
            {t("actions.delete")}
          </Button>
        </Group>
      </Group>
      <Dialog
        opened={asking === "enable"}
        onClose={() => setAsking(undefined)}
        title={t("policies.enableTitle", { name: policy.account })}
        size="lg"
      >
        <EnablePolicy account={policy.account} onClose={() => setAsking(undefined)} />
      </Dialog>
      <Confirm
        opened={asking === "delete"}
        onClose={() => setAsking(undefined)}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t("policies.deleteTitle", { name: policy.account })}
        confirm={t("actions.delete")}
      >
        {t("policies.deleteText")}
      </Confirm>
    </Panel>
  );
}

/** Switches a policy on, when what it would do now has been seen. */
function EnablePolicy({ account, onClose }: { account: string; onClose: () => void }) {
  const { t } = useTranslation();
  const [seen, setSeen] = useState(false);
  const enable = useAction({
    run: () =>
      client.PUT("/api/v1/policies/{name}/enabled", {
        params: { path: { name: account } },
        body: { enabled: true },
      }),
    done: t("policies.changed"),
    changes: [["policies"]],
    onDone: onClose,
  });
  return (
    <Stack>
      <PolicyPreview account={account} onShown={() => setSeen(true)} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t("actions.back")}
        </Button>
        <Button disabled={!seen} loading={enable.isPending} onClick={() => enable.mutate()}>
          {t("policies.enable")}
        </Button>
      </Group>
    </Stack>
  );
}
