import { Alert, Button, Group, NumberInput, Radio, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconLink } from "@tabler/icons-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PortView, SharingKind } from "../api/agreed";
import { client, take } from "../api/client";
import { useSend } from "../forms/useSend";
import { type Work, workKey } from "../work/work";
import { Command } from "./Command";

interface Props {
  workspace: Work;
  port: PortView;
  onClose: () => void;
}

/** Who may open a port besides the owner. A link is told once: the portal keeps no copy of it. */
export function ShareForm({ workspace, port, onClose }: Props) {
  const { t } = useTranslation();
  const [link, setLink] = useState<string>();
  const form = useForm<{ kind: SharingKind; hours: number | string }>({
    initialValues: { kind: port.sharing.kind, hours: 24 },
    validate: {
      hours: (value, { kind }) => (kind !== "link" || Number(value) >= 1 ? null : t("faults.whole")),
    },
  });
  const { namespace, name } = workspace;
  const share = useSend(form, {
    run: ({ kind, hours }) =>
      take(
        client.PUT("/api/v1/workspaces/{namespace}/{name}/ports/{port}/sharing", {
          params: { path: { namespace, name, port: port.port } },
          body: { kind, hours: kind === "link" ? Number(hours) : undefined },
        }),
      ),
    done: t("ports.shared"),
    changes: [[...workKey("workspaces", workspace), "ports"]],
    onDone: (made) => (made.link ? setLink(made.link) : onClose()),
  });
  if (link) {
    return (
      <Stack>
        <Alert color="yellow" icon={<IconLink size={18} />}>
          {t("ports.linkOnce")}
        </Alert>
        <Command title={t("ports.link")} text={link} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t("keys.kept")}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <form onSubmit={share.onSubmit} noValidate>
      <Stack>
        {share.problem}
        <Radio.Group label={t("ports.who")} {...form.getInputProps("kind")}>
          <Stack gap="xs" mt="xs">
            {(["private", "account", "link"] as const).map((kind) => (
              <Radio
                key={kind}
                value={kind}
                label={t(`ports.kinds.${kind}`)}
                description={t(`ports.kindTexts.${kind}`)}
              />
            ))}
          </Stack>
        </Radio.Group>
        {form.values.kind === "link" && (
          <NumberInput
            label={t("ports.hours")}
            allowDecimal={false}
            clampBehavior="none"
            {...form.getInputProps("hours")}
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("actions.back")}
          </Button>
          <Button type="submit" loading={share.busy}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
