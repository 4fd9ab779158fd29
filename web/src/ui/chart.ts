// Where points of a line go. Pure.
import type { UsagePoint } from "../api/types";

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

/** The span and the largest value of all lines; nothing if there is no value at all. */
export function reach(cards: { points: UsagePoint[] }[], column: Column): Bounds | undefined {
  const points = cards.flatMap((card) => card.points).filter((point) => point[column] !== null);
  if (points.length === 0) return undefined;
  const times = points.map(([at]) => at);
  const from = Math.min(...times);
  return {
    from,
    until: Math.max(from + 1, ...times),
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
