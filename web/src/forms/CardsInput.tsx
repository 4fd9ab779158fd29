import {
  Chip,
  Group,
  Input,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { CardChoice, PlaceChoice } from "./choices";
import { type CardValues, indicesOf } from "./values";

interface Props {
  value: CardValues;
  onChange: (value: CardValues) => void;
  choices: CardChoice[];
  /** The cards of the node that was chosen: which of them a part is taken of. */
  places?: PlaceChoice[];
  errors: Record<string, ReactNode>;
  path?: string;
}

/** Which cards: of which kind, and whole ones or a part of one. */
export function CardsInput({ value, onChange, choices, places = [], errors, path = "cards" }: Props) {
  const { t } = useTranslation();
  const kind = choices.find((one) => one.resource === value.resource);
  const chosen = indicesOf(value.indices) ?? [];
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
            value={chosen.length || value.count}
            // Who names cards has said how many.
            disabled={chosen.length > 0}
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
        {value.resource && value.how === "memory" && (
          <TextInput
            label={t("forms.cardMemory")}
            value={value.memory}
            error={errors[`${path}.memory`]}
            onChange={(event) => onChange({ ...value, memory: event.currentTarget.value })}
          />
        )}
      </Group>
      {value.resource && value.how === "count" && (
        <NumbersInput
          text={value.indices}
          places={places}
          error={errors[`${path}.indices`]}
          onChange={(indices) => onChange({ ...value, indices })}
        />
      )}
      {value.resource && value.how !== "count" && (places.length > 0 || value.index !== undefined) && (
        <PlaceInput
          index={value.index}
          places={places}
          error={errors[`${path}.index`]}
          onChange={(index) => onChange({ ...value, index })}
        />
      )}
      {value.resource && (
        <Group justify="space-between">
          <SegmentedControl
            aria-label={t("forms.cardHow")}
            value={value.how}
            onChange={(how) => onChange({ ...value, how: how as CardValues["how"] })}
            data={[
              { value: "count", label: t("forms.cardWhole") },
              { value: "share", label: t("forms.cardPart") },
              { value: "memory", label: t("forms.cardSome") },
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

interface NumbersProps {
  text: string;
  places: PlaceChoice[];
  error: ReactNode;
  onChange: (text: string) => void;
}

/** Which whole cards: those of the node that was chosen are shown, on any other they are typed. */
function NumbersInput({ text, places, error, onChange }: NumbersProps) {
  const { t } = useTranslation();
  const label = usePlaceLabel();
  const chosen = indicesOf(text);
  const known = places.map((place) => place.index);
  // What cannot be read, or is not there, can only be mended where it stands.
  if (places.length === 0 || !chosen?.every((index) => known.includes(index))) {
    return (
      <TextInput
        label={t("forms.cardIndices")}
        description={t("forms.cardIndicesText")}
        value={text}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <Chip.Group
      multiple
      value={chosen.map(String)}
      onChange={(list) =>
        onChange(
          list
            .map(Number)
            .sort((a, b) => a - b)
            .join(", "),
        )
      }
    >
      <Input.Wrapper
        label={t("forms.cardIndices")}
        labelElement="div"
        description={t("forms.cardIndexText")}
        error={error}
      >
        <Group gap="xs" mt={6}>
          {places.map((place) => (
            <Chip
              key={place.index}
              value={String(place.index)}
              size="xs"
              // Whole cards are not shared: one with anybody on it is taken.
              disabled={place.holders > 0 && !chosen.includes(place.index)}
            >
              {label(place)}
            </Chip>
          ))}
        </Group>
      </Input.Wrapper>
    </Chip.Group>
  );
}

interface PlaceProps {
  index?: number;
  places: PlaceChoice[];
  error: ReactNode;
  onChange: (index: number | undefined) => void;
}

/** A card with who is on it. */
function usePlaceLabel() {
  const { t } = useTranslation();
  return (place: PlaceChoice) => {
    const who = place.taken ? t("forms.cardTaken") : t("forms.cardUsers", { count: place.holders });
    const used = place.used === undefined ? [] : [t("forms.cardUsed", { percent: place.used })];
    return [place.index, who, ...used].join(" · ");
  };
}

/** Which card of the node to take a part of. */
function PlaceInput({ index, places, error, onChange }: PlaceProps) {
  const { t } = useTranslation();
  const label = usePlaceLabel();
  const known = places.map((place) => ({
    value: String(place.index),
    label: label(place),
    disabled: place.taken && place.index !== index,
  }));
  const own = index === undefined ? "" : String(index);
  const lost = own && !known.some((one) => one.value === own) ? [{ value: own, label: own }] : [];
  return (
    <NativeSelect
      label={t("forms.cardIndex")}
      description={t("forms.cardIndexText")}
      value={own}
      error={error}
      onChange={({ currentTarget: { value } }) => onChange(value === "" ? undefined : Number(value))}
      data={[{ value: "", label: t("forms.any") }, ...known, ...lost]}
    />
  );
}
