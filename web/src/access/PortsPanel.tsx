import { Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconExternalLink, IconShare } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PortView } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndButton } from "../ui/EndButton";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import ui from "../ui/ui.module.css";
import { When } from "../ui/When";
import { Command } from "./Command";
import { isOffered } from "./offer";
import { type Behind, offersOf, portsKey, portsQuery, programTitle, type Reader, shareCall } from "./ports";
import { ShareForm } from "./ShareForm";
import { useOpenPort } from "./useOpenPort";

interface Props {
  behind: Behind;
  reader: Reader;
}

/** Programs that listen in a workspace or a job: opened in a page of their own, and shared. */
export function PortsPanel({ behind, reader }: Props) {
  const { kind, work } = behind;
  const { t } = useTranslation();
  const [sharing, setSharing] = useState<PortView>();
  const query = useQuery(portsQuery(kind, work));
  const items = query.data?.items ?? [];
  const running = work.phase === "Running";
  // Then nothing is opened or shared here, and a connection of one's own is all there is.
  const served = query.data?.served !== false;
  if (isOffered(query) === false) return null;
  // Nothing is opened in what does not run; what was shared before is still taken back.
  if (!running && !items.some((one) => one.sharing.kind !== "private")) return null;
  return (
    <Panel title={t("ports.title")}>
      <Stack>
        <Text size="sm" c="dimmed">
          {served ? t(kind === "jobs" ? "ports.textJob" : "ports.text") : t("ports.notServed")}
        </Text>
        <Loaded query={query} rows={2}>
          {() =>
            !served && !items.some((one) => one.sharing.kind !== "private") ? null : items.length > 0 ? (
              <ul className={ui.ports} aria-label={t("ports.title")}>
                {items.map((one) => (
                  <Row
                    key={one.port}
                    behind={behind}
                    reader={reader}
                    port={one}
                    served={served}
                    onShare={setSharing}
                  />
                ))}
              </ul>
            ) : (
              <Text size="sm">{reader.own ? t("ports.none") : t("ports.noneShared")}</Text>
            )
          }
        </Loaded>
        {reader.own && running && (
          <>
            {served && <AnyPort behind={behind} known={items} onShare={setSharing} />}
            <Command
              title={t("ports.forward")}
              text={`maar forward ${kind === "jobs" ? "job/" : ""}${work.name} ${items[0]?.port ?? 8888}`}
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
        {sharing && <ShareForm behind={behind} port={sharing} onClose={() => setSharing(undefined)} />}
      </Dialog>
    </Panel>
  );
}

interface RowProps extends Props {
  port: PortView;
  served: boolean;
  onShare: (port: PortView) => void;
}

function Row({ behind, reader, port, served, onShare }: RowProps) {
  const { t } = useTranslation();
  const { kind: of, work } = behind;
  const open = useOpenPort(of, work);
  const offers = offersOf(port, reader);
  const { kind, expires } = port.sharing;
  const who = {
    private: reader.own ? t("ports.kinds.private") : t("ports.onlyOwner"),
    account: t("ports.kinds.account", { account: work.account }),
    link: t("ports.kinds.link"),
  };
  return (
    // No table: beside each other on a desk, below each other on a telephone.
    <li>
      <div>
        <Text size="sm" fw={600} className="numbers">
          {port.name ? `${port.port} · ${port.name}` : port.port}
        </Text>
        <Text size="sm">{who[kind]}</Text>
        {expires && (
          <Text size="xs" c="dimmed">
            {t("ports.ends")} <When at={expires} />
          </Text>
        )}
      </div>
      <Group gap="xs">
        {offers.end && (
          <EndButton
            label={t("ports.end")}
            title={t("ports.endTitle", { port: port.port })}
            run={() => shareCall(of, work, port.port, { kind: "private" })}
            done={t("ports.ended")}
            changes={[portsKey(of, work)]}
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
        {offers.open && served && work.phase === "Running" && (
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
    </li>
  );
}

interface AnyProps {
  behind: Behind;
  known: PortView[];
  onShare: (port: PortView) => void;
}

/** A port that nobody has named. */
function AnyPort({ behind, known, onShare }: AnyProps) {
  const { t } = useTranslation();
  const open = useOpenPort(behind.kind, behind.work);
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
