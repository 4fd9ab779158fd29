import { Button, Checkbox, Code, Group, NativeSelect, ScrollArea, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDroplet, IconLock, IconLockOpen, IconUsersGroup } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, readText } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { NodeDetail } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";

export function NodeActions({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const [draining, drain] = useDisclosure();
  const [occupying, occupation] = useDisclosure();
  const params = { path: { name: node.name } };
  const changes = [["nodes"]];
  const cordon = useAction({
    run: () => client.POST("/api/v1/nodes/{name}/cordon", { params }),
    done: t("nodes.cordonDone"),
    changes,
  });
  const uncordon = useAction({
    run: () => client.POST("/api/v1/nodes/{name}/uncordon", { params }),
    done: t("nodes.uncordonDone"),
    changes,
  });
  return (
    <Group gap="xs">
      {node.schedulable === false ? (
        <Button
          leftSection={<IconLockOpen size={18} />}
          loading={uncordon.isPending}
          onClick={() => uncordon.mutate()}
        >
          {t("nodes.uncordon")}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<IconLock size={18} />}
          loading={cordon.isPending}
          onClick={() => cordon.mutate()}
        >
          {t("nodes.cordon")}
        </Button>
      )}
      <Button variant="default" leftSection={<IconUsersGroup size={18} />} onClick={occupation.open}>
        {t("nodes.occupy")}
      </Button>
      <Button variant="default" leftSection={<IconDroplet size={18} />} onClick={drain.open}>
        {t("nodes.drain")}
      </Button>
      <Drain name={node.name} opened={draining} onClose={drain.close} />
      <Occupy
        key={node.account}
        name={node.name}
        owner={node.account}
        opened={occupying}
        onClose={occupation.close}
      />
    </Group>
  );
}

interface DialogProps {
  name: string;
  opened: boolean;
  onClose: () => void;
}

/** Empties a node, and shows how it goes. */
function Drain({ name, opened, onClose }: DialogProps) {
  const { t } = useTranslation();
  const said = useErrorText();
  const queries = useQueryClient();
  const [lines, setLines] = useState<string>();
  const [unmanaged, setUnmanaged] = useState(false);
  const begin = async () => {
    setLines("");
    const path = `/api/v1/nodes/${encodeURIComponent(name)}/drain`;
    await readText(path, (piece) => setLines((before) => (before ?? "") + piece), {
      method: "POST",
      json: { unmanaged },
    }).catch((error: unknown) => setLines((before) => `${before ?? ""}${said(error)}\n`));
    void queries.invalidateQueries({ queryKey: ["nodes"] });
  };
  if (lines === undefined) {
    return (
      <Confirm
        opened={opened}
        onClose={onClose}
        onConfirm={() => void begin()}
        danger
        title={t("nodes.drainTitle", { name })}
        lost={[t("nodes.drainLost"), ...(unmanaged ? [t("nodes.drainLostUnmanaged")] : [])]}
        confirm={t("nodes.drain")}
      >
        {t("nodes.drainText")}
        <Checkbox
          mt="sm"
          label={t("nodes.drainUnmanaged")}
          description={t("nodes.drainUnmanagedText")}
          checked={unmanaged}
          onChange={(event) => setUnmanaged(event.currentTarget.checked)}
        />
      </Confirm>
    );
  }
  return (
    <Dialog
      opened={opened}
      onClose={() => {
        setLines(undefined);
        setUnmanaged(false);
        onClose();
      }}
      title={t("nodes.drainTitle", { name })}
      size="lg"
    >
      <ScrollArea.Autosize mah={360}>
        <Code block role="log">
          {lines || t("nodes.drainBegins")}
        </Code>
      </ScrollArea.Autosize>
    </Dialog>
  );
}

/** Keeps a node for one account. */
function Occupy({ name, owner, opened, onClose }: DialogProps & { owner?: string | null }) {
  const { t } = useTranslation();
  const [account, setAccount] = useState(owner ?? "");
  const accounts = useQuery(accountsQuery).data?.items ?? [];
  const save = useAction({
    run: () =>
      client.PUT("/api/v1/nodes/{name}/account", {
        params: { path: { name } },
        body: { account: account || null },
      }),
    done: t("nodes.occupied"),
    changes: [["nodes"]],
    onDone: onClose,
  });
  return (
    <Dialog opened={opened} onClose={onClose} title={t("nodes.occupyTitle", { name })}>
      <Stack>
        <Text size="sm">{t("nodes.occupyText")}</Text>
        <NativeSelect
          label={t("fields.account")}
          value={account}
          onChange={(event) => setAccount(event.currentTarget.value)}
          data={[
            { value: "", label: t("nodes.everyone") },
            ...accounts.map((one) => ({ value: one.name, label: one.displayName ?? one.name })),
          ]}
        />
        <Group justify="flex-end">
          <Button loading={save.isPending} onClick={() => save.mutate()}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
