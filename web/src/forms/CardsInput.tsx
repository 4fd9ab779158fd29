import { Group, NativeSelect, NumberInput, SegmentedControl, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { CardChoice } from "./choices";
import type { CardValues } from "./values";

interface Props {
  value: CardValues;
  onChange: (value: CardValues) => void;
  choices: CardChoice[];
  errors: Record<string, ReactNode>;
  path?: string;
}

/** Which cards: of which kind, and whole ones or a part of one. */
export function CardsInput({ value, onChange, choices, errors, path = "cards" }: Props) {
  const { t } = useTranslation();
  const kind = choices.find((one) => one.resource === value.resource);
  return (
    <Stack gap="sm">
      <Group align="flex-start" grow>
        <NativeSelect
          label={t("forms.cardKind")}
          value={value.resource}
          onChange={(event) => onChange({ ...value, resource: event.currentTarget.value })}
          error={errors[`${path}.resource`]}
          data={[
            { value: "", label: t("cards.none") },
            ...choices.map((one) => ({ value: one.resource, label: one.title })),
          ]}
        />
        {value.resource && value.how === "count" && (
          <NumberInput
            label={t("forms.cardCount")}
            min={1}
            max={1024}
            allowDecimal={false}
            value={value.count}
            error={errors[`${path}.count`]}
            onChange={(count) => onChange({ ...value, count: Number(count) })}
          />
        )}
        {value.resource && value.how === "share" && (
          <NumberInput
            label={t("forms.cardShare")}
            min={0.05}
            max={0.95}
            step={0.25}
            decimalScale={2}
            value={value.share}
            error={errors[`${path}.share`]}
            onChange={(share) => onChange({ ...value, share: Number(share) })}
          />
        )}
      </Group>
      {value.resource && (
        <Group justify="space-between">
          <SegmentedControl
            aria-label={t("forms.cardHow")}
            value={value.how}
            onChange={(how) => onChange({ ...value, how: how as CardValues["how"] })}
            data={[
              { value: "count", label: t("forms.cardWhole") },
              { value: "share", label: t("forms.cardPart") },
            ]}
          />
          {kind && (
            <Text size="sm" c="dimmed" className="numbers">
              {t("home.cardsFree", { free: kind.free, total: kind.total })}
            </Text>
          )}
        </Group>
      )}
    </Stack>
  );
}
