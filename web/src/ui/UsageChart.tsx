// How busy cards were, as lines. Drawn as it is: a library for this would be larger than the page.
import { Box, Group, SegmentedControl, Text } from "@mantine/core";
import { IconChartLine } from "@tabler/icons-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Usage } from "../api/types";
import { line, reach } from "./chart";
import { formatBytes } from "./format";
import { Panel } from "./Panel";
import { Empty } from "./states";
import classes from "./ui.module.css";

const width = 720;
const height = 220;
const left = 56;
const bottom = 24;
// Told apart by colour-blind people, and by their dashes.
const strokes = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3c91c9", "#5b5b5b", "#7b4ab5"];
const dashes = ["", "6 3", "2 3", "8 3 2 3"];

export function UsageChart({ usage }: { usage: Usage }) {
  const { t, i18n } = useTranslation();
  const [what, setWhat] = useState<"use" | "memory">("use");
  const column = what === "use" ? 1 : 2;
  const bounds = reach(usage.cards, column);
  if (!bounds) {
    return (
      <Empty icon={IconChartLine} title={t("usage.none")}>
        {t("usage.noneText")}
      </Empty>
    );
  }
  const top = what === "use" ? 100 : bounds.top;
  const label = (value: number) => (what === "use" ? `${Math.round(value)}%` : formatBytes(value));
  const clock = (seconds: number) =>
    new Intl.DateTimeFormat(i18n.language, { hour: "2-digit", minute: "2-digit" }).format(seconds * 1000);
  const area = { left, top: 8, width: width - left - 8, height: height - bottom - 8 };
  return (
    <Panel
      title={t("usage.title")}
      beside={
        <SegmentedControl
          aria-label={t("usage.what")}
          value={what}
          onChange={(value) => setWhat(value as typeof what)}
          data={[
            { value: "use", label: t("heatmap.utilisation") },
            { value: "memory", label: t("heatmap.memory") },
          ]}
        />
      }
    >
      <svg
        viewBox={`0 0 ${width} ${height}`}
        className={classes.chart}
        role="img"
        aria-label={t("usage.title")}
      >
        {[0, 0.25, 0.5, 0.75, 1].map((part) => {
          const y = area.top + area.height * (1 - part);
          return (
            <g key={part}>
              <line x1={left} x2={width - 8} y1={y} y2={y} className={classes.grid} />
              <text x={left - 8} y={y + 4} textAnchor="end">
                {label(top * part)}
              </text>
            </g>
          );
        })}
        <text x={left} y={height - 4}>
          {clock(bounds.from)}
        </text>
        <text x={width - 8} y={height - 4} textAnchor="end">
          {clock(bounds.until)}
        </text>
        {usage.cards.map((card, index) => (
          <path
            key={card.card}
            d={line(card.points, column, { ...bounds, top }, area)}
            fill="none"
            stroke={strokes[index % strokes.length]}
            strokeDasharray={dashes[Math.floor(index / strokes.length) % dashes.length]}
            strokeWidth={2}
            strokeLinecap="round"
          />
        ))}
      </svg>
      <Group gap="md" mt="xs">
        {usage.cards.map((card, index) => (
          <Group key={card.card} gap={6}>
            <Box w={14} h={4} bg={strokes[index % strokes.length]} aria-hidden />
            <Text size="xs">{card.card}</Text>
          </Group>
        ))}
      </Group>
    </Panel>
  );
}
