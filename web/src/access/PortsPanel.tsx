import { Button, Group, NumberInput, Table, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconExternalLink, IconShare } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PortView } from "../api/agreed";
import { client, take } from "../api/client";
import { useSend } from "../forms/useSend";
import { Dialog } from "../ui/Dialog";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { useAction } from "../ui/useAction";
import { When } from "../ui/When";
import { type Work, workKey } from "../work/work";
import { isOffered, once } from "./offer";
import { ShareForm } from "./ShareForm";
import { goTo } from "./visit";

export const portsQuery = ({ namespace, name }: Work) =>
  queryOptions({
    retryOnMount: once.retryOnMount,
    queryKey: [...workKey("workspaces", { namespace, name }), "ports"],
    queryFn: () =>
      take(
        client.GET("/api/v1/workspaces/{namespace}/{name}/ports", { params: { path: { namespace, name } } }),
      ),
  });

interface Props {
  workspace: Work;
  /** It is the reader's: he decides who else may come in. */
  own: boolean;
}

/** Programs that listen in a workspace: opened in a page of their own, and shared. */
export function PortsPanel({ workspace, own }: Props) {
  const { t } = useTranslation();
  const [sharing, setSharing] = useState<PortView>();
  const query = useQuery(portsQuery(workspace));
  if (isOffered(query) === false) return null;
  return (
    <Panel title={t("ports.title")}>
      <Text size="sm" c="dimmed" mb="md">
        {t("ports.text")}
      </Text>
      <Loaded query={query} rows={2}>
        {({ items }) =>
          items.length > 0 && (
            <Rows label={t("ports.title")} heads={[t("ports.port"), t("ports.who"), ""]}>
              {items.map((one) => (
                <Row key={one.port} workspace={workspace} port={one} onShare={own ? setSharing : undefined} />
              ))}
            </Rows>
          )
        }
      </Loaded>
      {own && <AnyPort workspace={workspace} />}
      <Dialog
        opened={sharing !== undefined}
        onClose={() => setSharing(undefined)}
        title={t("ports.shareTitle", { port: sharing?.port ?? "" })}
      >
        {sharing && <ShareForm workspace={workspace} port={sharing} onClose={() => setSharing(undefined)} />}
      </Dialog>
    </Panel>
  );
}

/** Opens a port. The page that it comes into is made by the click itself: browsers refuse those that come later. */
function useOpen(workspace: Work) {
  const open = useAction({
    run: async ({ port, page }: { port: number; page: Window | null }) => {
      const path = { namespace: workspace.namespace, name: workspace.name, port };
      const answer = client.POST("/api/v1/workspaces/{namespace}/{name}/ports/{port}/open", {
        params: { path },
      });
      const { url } = await take(answer).catch((error: unknown) => {
        page?.close();
        throw error;
      });
      goTo(url, page);
    },
  });
  return {
    busy: open.isPending,
    run: (port: number) => open.mutate({ port, page: window.open("", "_blank") }),
  };
}

interface RowProps {
  workspace: Work;
  port: PortView;
  onShare?: (port: PortView) => void;
}

function Row({ workspace, port, onShare }: RowProps) {
  const { t } = useTranslation();
  const open = useOpen(workspace);
  return (
    <Table.Tr>
      <Table.Td fw={600}>{port.name ? `${port.port} · ${port.name}` : port.port}</Table.Td>
      <Table.Td>
        {t(`ports.kinds.${port.sharing.kind}`)}
        {port.sharing.expires && (
          <Text size="xs" c="dimmed">
            {t("ports.until")} <When at={port.sharing.expires} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Button
            size="xs"
            leftSection={<IconExternalLink size={14} />}
            loading={open.busy}
            onClick={() => open.run(port.port)}
          >
            {t("ports.open")}
          </Button>
          {onShare && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconShare size={14} />}
              onClick={() => onShare(port)}
            >
              {t("ports.share")}
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** A port that nobody has named. */
function AnyPort({ workspace }: { workspace: Work }) {
  const { t } = useTranslation();
  const open = useOpen(workspace);
  const form = useForm<{ port: number | string }>({
    initialValues: { port: "" },
    validate: { port: (value) => (Number(value) >= 1 && Number(value) <= 65_535 ? null : t("ports.fault")) },
  });
  const send = useSend(form, { run: async ({ port }) => open.run(Number(port)) });
  return (
    <form onSubmit={send.onSubmit} noValidate>
      <Group align="flex-start" mt="md" gap="xs">
        <NumberInput
          aria-label={t("ports.other")}
          placeholder={t("ports.other")}
          allowDecimal={false}
          allowNegative={false}
          clampBehavior="none"
          hideControls
          w={220}
          {...form.getInputProps("port")}
        />
        <Button type="submit" variant="default" loading={open.busy}>
          {t("ports.open")}
        </Button>
      </Group>
    </form>
  );
}
