// How busy cards were, as lines. Drawn as it is: a library for this would be larger than the page.
import { Group, SegmentedControl, Text } from "@mantine/core";
import { IconChartLine } from "@tabler/icons-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Usage } from "../api/types";
import { gather, line, mostLines, reach, titlesOf } from "./chart";
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
const dashes = ["", "8 5", "2 5", "10 5 2 5"];

const pen = (index: number) => ({
  fill: "none",
  stroke: strokes[index % strokes.length],
  strokeDasharray: dashes[index % dashes.length],
  strokeWidth: 2,
  strokeLinecap: "round" as const,
});

export function UsageChart({ usage }: { usage: Usage }) {
  const { t, i18n } = useTranslation();
  const [what, setWhat] = useState<"use" | "memory">("use");
  const column = what === "use" ? 1 : 2;
  const many = usage.cards.length > mostLines;
  const gathered = many ? gather(usage.cards, column) : undefined;
  const lines = gathered
    ? (["highest", "mean", "lowest"] as const).map((one) => ({
        title: t(`usage.${one}`, { count: usage.cards.length }),
        points: gathered[one],
      }))
    : titlesOf(usage.cards).map((title, at) => ({ title, points: usage.cards[at]?.points ?? [] }));
  const bounds = reach(lines, column);
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
        {lines.map(({ title, points }, index) => (
          <path key={title} d={line(points, column, { ...bounds, top }, area)} {...pen(index)} />
        ))}
      </svg>
      <Group gap="md" mt="xs">
        {lines.map(({ title }, index) => (
          <Group key={title} gap={6}>
            <svg width={26} height={4} aria-hidden>
              <path d="M1 2H25" {...pen(index)} />
            </svg>
            <Text size="xs">{title}</Text>
          </Group>
        ))}
      </Group>
    </Panel>
  );
}
