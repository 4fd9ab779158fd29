import { Button, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { NodeHistory } from "../api/types";
import { Facts } from "../ui/Facts";
import { cardTitle, formatBytes, modelTitle } from "../ui/format";
import { When } from "../ui/When";
import { HolderLine } from "../work/HolderLine";
import classes from "./heatmap.module.css";
import { type Cell, dayOf } from "./model";
import { strip } from "./palette";

/** One card: what it does, who is on it, and how its day was. */
export function CardDetails({ cell, history }: { cell: Cell; history?: NodeHistory }) {
  const { t } = useTranslation();
  const { card, node } = cell;
  const measured = (value: number | null | undefined, text: (value: number) => string) =>
    value == null ? t("heatmap.notMeasured") : text(value);
  const facts: [string, ReactNode][] = [
    [t("fields.node"), node.name],
    [t("heatmap.number"), card.index],
    [t("forms.cardKind"), modelTitle(node.model) ?? cardTitle(cell.resource)],
    [t("fields.state"), t(`heatmap.states.${cell.state}`)],
    [t("heatmap.utilisation"), measured(card.utilisation, (value) => `${Math.round(value)}%`)],
    [
      t("heatmap.memory"),
      measured(
        card.memoryUsed,
        (value) => `${formatBytes(value)}${card.memoryTotal ? ` / ${formatBytes(card.memoryTotal)}` : ""}`,
      ),
    ],
    [t("heatmap.temperature"), measured(card.temperature, (value) => `${Math.round(value)} °C`)],
  ];
  if (card.freeAt) facts.push([t("heatmap.freeAt"), <When key="free" at={card.freeAt} />]);
  const day = dayOf(history, cell);
  return (
    <Stack gap="md">
      <div>
        <Text size="sm" c="dimmed" mb={4}>
          {t("heatmap.who")}
        </Text>
        {card.holders.length === 0 && <Text size="sm">{t(`heatmap.nobody.${cell.state}`)}</Text>}
        {card.holders.map((holder, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: hidden holders have nothing to tell them apart
          <HolderLine key={index} holder={holder} />
        ))}
      </div>
      <Facts facts={facts} narrow />
      {day && (
        <div>
          <Text size="sm" c="dimmed" mb={4}>
            {t("heatmap.dayStrip")}
          </Text>
          <div
            className={`${classes.grid} ${classes.strip}`}
            role="img"
            aria-label={t("heatmap.dayStrip")}
            style={{ background: strip(day, "var(--gap)") }}
          />
        </div>
      )}
      {cell.state === "free" && (
        <Button
          component={Link}
          to="/workspaces/new"
          search={{ cards: cell.resource } as never}
          variant="light"
          leftSection={<IconPlus size={16} />}
        >
          {t("heatmap.use")}
        </Button>
      )}
    </Stack>
  );
}
