import { Alert, NativeSelect, Radio, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PortView } from "../api/types";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { formatDuration } from "../ui/format";
import { Once } from "../ui/Once";
import { type Behind, portsKey, shareCall } from "./ports";

interface Props {
  behind: Behind;
  port: PortView;
  onClose: () => void;
}

/** The longest that the portal allows is the last. */
const lasting = [1, 8, 24, 7 * 24, 30 * 24];

/** With whom a port is shared. A link is told once: the portal keeps no copy of it. */
export function ShareForm({ behind: { kind: of, work }, port, onClose }: Props) {
  const { t, i18n } = useTranslation();
  const [link, setLink] = useState<string>();
  const before = port.sharing.kind;
  const form = useForm<{ kind: "account" | "link"; hours: string }>({
    initialValues: { kind: before === "account" ? "account" : "link", hours: "24" },
  });
  const { kind, hours } = form.values;
  const share = useSend(form, {
    run: () => shareCall(of, work, port.port, { kind, hours: hours ? Number(hours) : undefined }),
    done: t("ports.shared"),
    changes: [portsKey(of, work)],
    onDone: (made) => (made.link ? setLink(made.link) : onClose()),
  });
  if (link) return <Once warning={t("ports.linkOnce")} text={link} onKept={onClose} />;
  const ends = lasting.map((count) => ({
    value: String(count),
    label: formatDuration(count * 3600, i18n.language),
  }));
  return (
    <SmallForm sending={share} submit={t("ports.share")} onBack={onClose}>
      <Radio.Group
        label={t("ports.who")}
        value={kind}
        // A link has an end.
        onChange={(value) => form.setValues({ kind: value as typeof kind, hours: hours || "24" })}
      >
        <Stack gap="xs" mt="xs">
          {(["link", "account"] as const).map((one) => (
            <Radio
              key={one}
              value={one}
              label={t(`ports.kinds.${one}`, { account: work.account })}
              description={t(`ports.kindTexts.${one}`)}
            />
          ))}
        </Stack>
      </Radio.Group>
      <NativeSelect
        label={t("ports.lasts")}
        data={kind === "account" ? [...ends, { value: "", label: t("ports.noEnd") }] : ends}
        {...form.getInputProps("hours")}
      />
      {before === "link" && <Text size="sm">{t("ports.oldLink")}</Text>}
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
        {t("ports.warning")}
      </Alert>
    </SmallForm>
  );
}
