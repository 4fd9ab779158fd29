import { Button, Group, NativeSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import type { KubeconfigOffer } from "../api/agreed";
import { client, take } from "../api/client";
import { useSend } from "../forms/useSend";

export interface MadeKubeconfig {
  device: string;
  kubeconfig: string;
}

interface Props {
  offer: KubeconfigOffer;
  onMade: (made: MadeKubeconfig) => void;
}

export function NewKubeconfig({ offer, onMade }: Props) {
  const { t } = useTranslation();
  const form = useForm<{ mode: (typeof offer.modes)[number]; device: string; hours: number | string }>({
    initialValues: { mode: offer.modes[0] ?? "certificate", device: "", hours: "" },
    validate: {
      device: (value) => (value.trim() ? null : t("forms.required")),
      hours: (value) => (value === "" || Number(value) >= 1 ? null : t("faults.whole")),
    },
  });
  const make = useSend(form, {
    run: ({ mode, device, hours }) =>
      take(
        client.POST("/api/v1/me/kubeconfigs", {
          body: { mode, device: device.trim(), hours: hours === "" ? undefined : Number(hours) },
        }),
      ),
    changes: [["kubeconfigs"]],
    onDone: ({ kubeconfig }, { device }) => onMade({ device: device.trim(), kubeconfig }),
  });
  return (
    <form onSubmit={make.onSubmit} noValidate>
      <Stack>
        {make.problem}
        <TextInput
          label={t("kubeconfig.device")}
          description={t("kubeconfig.deviceText")}
          placeholder="laptop"
          required
          data-autofocus
          {...form.getInputProps("device")}
        />
        <NativeSelect
          label={t("kubeconfig.mode")}
          description={t(`kubeconfig.modeTexts.${form.values.mode}`)}
          data={offer.modes.map((value) => ({ value, label: t(`kubeconfig.modes.${value}`) }))}
          {...form.getInputProps("mode")}
        />
        {form.values.mode !== "oidc" && (
          <NumberInput
            label={t("kubeconfig.hours")}
            description={t("kubeconfig.hoursText")}
            allowDecimal={false}
            clampBehavior="none"
            {...form.getInputProps("hours")}
          />
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={make.busy}>
            {t("kubeconfig.make")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
