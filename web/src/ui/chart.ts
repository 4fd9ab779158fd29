// Where points of a line go. Pure.
import type { Usage, UsagePoint } from "../api/types";
import { cardTitle } from "./format";

export interface Bounds {
  from: number;
  until: number;
  top: number;
}
interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

type Column = 1 | 2;

const hour = 3600;

/** The span and the largest value of all lines; nothing if there is no value at all. It is a whole hour also where less was
 * measured: a minute that fills the chart would look like an hour. */
export function reach(cards: { points: UsagePoint[] }[], column: Column): Bounds | undefined {
  const points = cards.flatMap((card) => card.points).filter((point) => point[column] !== null);
  if (points.length === 0) return undefined;
  const times = points.map(([at]) => at);
  const until = Math.max(...times);
  return {
    from: Math.min(until - hour, ...times),
    until,
    top: Math.max(1, ...points.map((point) => point[column] ?? 0)),
  };
}

/** The path of a line. Where nothing was measured there is a gap and no line that pretends. */
export function line(points: UsagePoint[], column: Column, bounds: Bounds, area: Area): string {
  let path = "";
  let pen = "M";
  for (const point of points) {
    const value = point[column];
    if (value === null || value === undefined) {
      pen = "M";
      continue;
    }
    const x = area.left + (area.width * (point[0] - bounds.from)) / (bounds.until - bounds.from);
    const y = area.top + area.height * (1 - Math.min(value, bounds.top) / bounds.top);
    // A line of no length makes a dot of a measurement that is alone.
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}${pen === "M" ? "h0" : ""}`;
    pen = "L";
  }
  return path;
}

/** What each card is called: every node has a card 0, and one with several kinds has several. */
export function titlesOf(cards: Usage["cards"]): string[] {
  const kinds = new Set(cards.map((one) => one.resource));
  return cards.map(({ node, resource, index }) =>
    kinds.size > 1 ? `${node} · ${cardTitle(resource)} ${index}` : `${node} · ${index}`,
  );
}

/** More lines than this nobody tells apart; a job may have thousands of cards. */
export const mostLines = 8;

/** Of many cards the highest, the mean and the lowest value of each minute. */
export function gather(cards: { points: UsagePoint[] }[], column: Column) {
  const minutes = new Map<number, { high: number; low: number; sum: number; count: number }>();
  for (const { points } of cards) {
    for (const point of points) {
      const value = point[column];
      if (value === null || value === undefined) continue;
      const minute = point[0] - (point[0] % 60);
      const { high, low, sum, count } = minutes.get(minute) ?? { high: value, low: value, sum: 0, count: 0 };
      minutes.set(minute, {
        high: Math.max(high, value),
        low: Math.min(low, value),
        sum: sum + value,
        count: count + 1,
      });
    }
  }
  const rows = [...minutes].sort(([a], [b]) => a - b);
  const points = (pick: (row: (typeof rows)[number][1]) => number) =>
    rows.map(([at, row]): UsagePoint => (column === 1 ? [at, pick(row), null] : [at, null, pick(row)]));
  return {
    highest: points((row) => row.high),
    mean: points((row) => row.sum / row.count),
    lowest: points((row) => row.low),
  };
}
