import { Button, Group, NumberInput, Stack, Table, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconExternalLink, IconShare } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PortView, WorkspaceDetail } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndButton } from "../ui/EndButton";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { When } from "../ui/When";
import { Command } from "./Command";
import { isOffered } from "./offer";
import { offersOf, portsKey, portsQuery, programTitle, type Reader, shareCall } from "./ports";
import { ShareForm } from "./ShareForm";
import { useOpenPort } from "./useOpenPort";

interface Props {
  workspace: WorkspaceDetail;
  reader: Reader;
}

/** Programs that listen in a workspace: opened in a page of their own, and shared. */
export function PortsPanel({ workspace, reader }: Props) {
  const { t } = useTranslation();
  const [sharing, setSharing] = useState<PortView>();
  const query = useQuery(portsQuery(workspace));
  const items = query.data?.items ?? [];
  const running = workspace.phase === "Running";
  // Then nothing is opened or shared here, and a connection of one's own is all there is.
  const served = query.data?.served !== false;
  if (isOffered(query) === false) return null;
  // Nothing is opened in what does not run; what was shared before is still taken back.
  if (!running && !items.some((one) => one.sharing.kind !== "private")) return null;
  return (
    <Panel title={t("ports.title")}>
      <Stack>
        <Text size="sm" c="dimmed">
          {served ? t("ports.text") : t("ports.notServed")}
        </Text>
        <Loaded query={query} rows={2}>
          {() =>
            !served && !items.some((one) => one.sharing.kind !== "private") ? null : items.length > 0 ? (
              <Rows label={t("ports.title")} heads={[t("ports.port"), t("ports.who"), ""]}>
                {items.map((one) => (
                  <Row
                    key={one.port}
                    workspace={workspace}
                    reader={reader}
                    port={one}
                    served={served}
                    onShare={setSharing}
                  />
                ))}
              </Rows>
            ) : (
              <Text size="sm">{reader.own ? t("ports.none") : t("ports.noneShared")}</Text>
            )
          }
        </Loaded>
        {reader.own && running && (
          <>
            {served && <AnyPort workspace={workspace} known={items} onShare={setSharing} />}
            <Command
              title={t("ports.forward")}
              text={`maar forward ${workspace.name} ${items[0]?.port ?? 8888}`}
            />
          </>
        )}
      </Stack>
      <Dialog
        opened={sharing !== undefined}
        onClose={() => setSharing(undefined)}
        title={t("ports.shareTitle", { port: sharing?.port ?? "" })}
        size="lg"
      >
        {sharing && <ShareForm workspace={workspace} port={sharing} onClose={() => setSharing(undefined)} />}
      </Dialog>
    </Panel>
  );
}

interface RowProps extends Props {
  port: PortView;
  served: boolean;
  onShare: (port: PortView) => void;
}

function Row({ workspace, reader, port, served, onShare }: RowProps) {
  const { t } = useTranslation();
  const open = useOpenPort(workspace);
  const offers = offersOf(port, reader);
  const { kind, expires } = port.sharing;
  const who = {
    private: reader.own ? t("ports.kinds.private") : t("ports.onlyOwner"),
    account: t("ports.kinds.account", { account: workspace.account }),
    link: t("ports.kinds.link"),
  };
  return (
    <Table.Tr>
      <Table.Td fw={600}>{port.name ? `${port.port} · ${port.name}` : port.port}</Table.Td>
      <Table.Td>
        {who[kind]}
        {expires && (
          <Text size="xs" c="dimmed">
            {t("ports.ends")} <When at={expires} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {offers.end && (
            <EndButton
              label={t("ports.end")}
              title={t("ports.endTitle", { port: port.port })}
              run={() => shareCall(workspace, port.port, { kind: "private" })}
              done={t("ports.ended")}
              changes={[portsKey(workspace)]}
            >
              {t("ports.endText")}
            </EndButton>
          )}
          {offers.share && served && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconShare size={14} />}
              aria-label={t("ports.shareTitle", { port: port.port })}
              onClick={() => onShare(port)}
            >
              {t("ports.share")}
            </Button>
          )}
          {offers.open && served && workspace.phase === "Running" && (
            <Button
              size="xs"
              leftSection={<IconExternalLink size={14} />}
              loading={open.busy}
              aria-label={port.name ? undefined : t("ports.openPort", { port: port.port })}
              onClick={() => open.run(port.port)}
            >
              {port.name ? t("ports.openNamed", { name: programTitle(port.name) }) : t("ports.open")}
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

interface AnyProps {
  workspace: WorkspaceDetail;
  known: PortView[];
  onShare: (port: PortView) => void;
}

/** A port that nobody has named. */
function AnyPort({ workspace, known, onShare }: AnyProps) {
  const { t } = useTranslation();
  const open = useOpenPort(workspace);
  const form = useForm<{ port: number | string }>({
    initialValues: { port: "" },
    validate: { port: (value) => (Number(value) >= 1 && Number(value) <= 65_535 ? null : t("ports.fault")) },
  });
  const share = form.onSubmit(({ port: typed }) => {
    const port = Number(typed);
    onShare(known.find((one) => one.port === port) ?? { port, sharing: { kind: "private" } });
  });
  return (
    <form onSubmit={form.onSubmit(({ port }) => open.run(Number(port)))} noValidate>
      <Group align="flex-start" gap="xs">
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
        <Button
          type="submit"
          variant="default"
          leftSection={<IconExternalLink size={16} />}
          loading={open.busy}
        >
          {t("ports.open")}
        </Button>
        <Button variant="default" leftSection={<IconShare size={16} />} onClick={() => share()}>
          {t("ports.share")}
        </Button>
      </Group>
    </form>
  );
}
