// What the heat map shows of each card, which nodes it shows, and where the arrow keys lead. Pure.
import type { CardView, NodeHistory, NodeView } from "../api/types";

export type Metric = "utilisation" | "memory" | "temperature";

/** `unsure`: it shows nobody, and somebody may be on it all the same. Only the node knows on which of them. */
export type CardState = "free" | "exclusive" | "shared" | "closed" | "unsure";

export interface Cell {
  node: NodeView;
  resource: string;
  card: CardView;
  state: CardState;
  /** From 0 to 1; nothing where nothing is measured. */
  value: number | undefined;
  /** The same for people, such as 87%. */
  text: string;
  freeSoon: boolean;
  mine: boolean;
}

export interface Row {
  node: NodeView;
  cells: Cell[];
  /** Cards that are in use although they show nobody, by kind: only the node knows which they are. */
  unknown: Record<string, number>;
}

type Kind = NodeView["cards"][number];

/** A card that is expected to be free within this time is free soon. */
const soonMs = 60 * 60 * 1000;
/** What is cold and what is hot for a card, in degrees Celsius. */
const cold = 25;
const hot = 90;

export function measureOf(card: CardView, metric: Metric): number | undefined {
  if (metric === "utilisation") return card.utilisation == null ? undefined : card.utilisation / 100;
  if (metric === "temperature") {
    return card.temperature == null ? undefined : (card.temperature - cold) / (hot - cold);
  }
  if (card.memoryUsed == null || !card.memoryTotal) return undefined;
  return card.memoryUsed / card.memoryTotal;
}

export function textOf(card: CardView, metric: Metric): string {
  const value = measureOf(card, metric);
  if (value === undefined) return "";
  return metric === "temperature" ? `${Math.round(card.temperature ?? 0)}°` : `${Math.round(value * 100)}%`;
}

/** How many of the cards of a kind that show nobody are in use: never more than there are. */
function unknownOf({ heldUnknown, cards }: Kind): number {
  return Math.min(heldUnknown ?? 0, cards.filter((card) => card.holders.length === 0).length);
}

/** How many cards of a kind somebody is on, whether it is known which or not. */
export const heldOf = (kind: Kind) =>
  kind.cards.filter((card) => card.holders.length > 0).length + unknownOf(kind);

export function stateOf(node: NodeView, kind: Kind, card: CardView): CardState {
  if (card.holders.length > 0) {
    return card.exclusive ? "exclusive" : "shared";
  }
  const unknown = unknownOf(kind);
  if (unknown > 0) {
    const blank = kind.cards.filter((one) => one.holders.length === 0).length;
    return unknown === blank ? "exclusive" : "unsure";
  }
  return isOpen(node) ? "free" : "closed";
}

const isOpen = (node: NodeView) => node.ready && node.schedulable;

/** The day of a card; nothing where nothing was measured. Two kinds of cards in one node count from zero each. */
export function dayOf(
  history: NodeHistory | undefined,
  { node, resource, card }: Pick<Cell, "node" | "resource" | "card">,
): (number | null)[] | undefined {
  return history?.nodes[node.name]?.[resource]?.[String(card.index)];
}

interface Options {
  metric: Metric;
  now: Date;
  namespace: string;
}

export function rowsOf(nodes: NodeView[], { metric, now, namespace }: Options): Row[] {
  return nodes
    .map((node) => ({
      node,
      unknown: Object.fromEntries(node.cards.map((kind) => [kind.resource, unknownOf(kind)])),
      cells: node.cards.flatMap((kind) =>
        kind.cards.map((card: CardView): Cell => {
          const until = card.freeAt ? new Date(card.freeAt).getTime() - now.getTime() : Number.NaN;
          return {
            node,
            resource: kind.resource,
            card,
            state: stateOf(node, kind, card),
            value: measureOf(card, metric),
            text: textOf(card, metric),
            freeSoon: until <= soonMs && card.holders.length > 0,
            mine: card.holders.some((holder) => holder.namespace === namespace),
          };
        }),
      ),
    }))
    .filter((row) => row.cells.length > 0);
}

/** How many cards of a row are of which sort: of those that may be free, so many are as are not in use. */
export function countRow({ node, cells, unknown }: Row): Record<CardState, number> {
  const counts = { free: 0, exclusive: 0, shared: 0, closed: 0, unsure: 0 };
  for (const cell of cells) counts[cell.state] += 1;
  for (const [resource, held] of Object.entries(unknown)) {
    const unsure = cells.filter((cell) => cell.state === "unsure" && cell.resource === resource).length;
    if (unsure === 0) continue;
    counts.unsure -= unsure - held;
    counts[isOpen(node) ? "free" : "closed"] += unsure - held;
  }
  return counts;
}

/** Cards of a row that are in use without anybody knowing which. */
export const heldUnknown = (row: Row) =>
  Object.entries(row.unknown)
    .filter(([resource]) => row.cells.some((cell) => cell.resource === resource))
    .reduce((sum, [, held]) => sum + held, 0);

export interface Filter {
  /** A part of the name of the node. */
  name: string;
  model: string;
  pool: string;
  resource: string;
  /** Only nodes with a card of this sort. */
  only: "all" | "free" | "soon" | "mine";
}

export const everything: Filter = { name: "", model: "", pool: "", resource: "", only: "all" };

export function filterRows(rows: Row[], filter: Filter): Row[] {
  const hasFree = (row: Row) => countRow(row).free > 0;
  const wanted: Record<Filter["only"], (row: Row) => boolean> = {
    all: () => true,
    free: hasFree,
    soon: (row) => hasFree(row) || row.cells.some((cell) => cell.freeSoon),
    mine: (row) => row.cells.some((cell) => cell.mine),
  };
  const name = filter.name.trim().toLowerCase();
  return rows
    .filter((row) => row.node.name.toLowerCase().includes(name))
    .filter((row) => !filter.model || row.node.model === filter.model)
    .filter((row) => !filter.pool || row.node.pool === filter.pool)
    .map((row) => ({
      ...row,
      cells: row.cells.filter((cell) => !filter.resource || cell.resource === filter.resource),
    }))
    .filter((row) => row.cells.length > 0 && wanted[filter.only](row));
}

export interface Place {
  row: number;
  column: number;
}

/** Where a key leads from a place; nothing if the key means nothing here. */
export function move(rows: { cells: unknown[] }[], at: Place, key: string): Place | undefined {
  const inRow = (row: number, column: number): Place => {
    const cells = rows[row]?.cells.length ?? 1;
    return { row, column: Math.min(Math.max(0, column), cells - 1) };
  };
  const last = rows.length - 1;
  switch (key) {
    case "ArrowRight":
      return inRow(at.row, at.column + 1);
    case "ArrowLeft":
      return inRow(at.row, at.column - 1);
    case "ArrowDown":
      return inRow(Math.min(last, at.row + 1), at.column);
    case "ArrowUp":
      return inRow(Math.max(0, at.row - 1), at.column);
    case "Home":
      return inRow(at.row, 0);
    case "End":
      return inRow(at.row, Number.MAX_SAFE_INTEGER);
    case "PageDown":
      return inRow(Math.min(last, at.row + 10), at.column);
    case "PageUp":
      return inRow(Math.max(0, at.row - 10), at.column);
    default:
      return undefined;
  }
}

export function countStates(rows: Row[]): Record<CardState, number> {
  const counts = { free: 0, exclusive: 0, shared: 0, closed: 0, unsure: 0 };
  for (const row of rows) {
    for (const [state, count] of Object.entries(countRow(row))) counts[state as CardState] += count;
  }
  return counts;
}
