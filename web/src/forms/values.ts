// What forms of workspaces and jobs have in common: values as people type them, checked and put into requests. Pure.
import { parseQuantity } from "../ui/format";

export type Fault =
  | "required"
  | "name"
  | "quantity"
  | "path"
  | "variable"
  | "reserved"
  | "twice"
  | "whole"
  | "share"
  | "indices"
  | "amount"
  | "resourceTwice";

export interface Pair {
  name: string;
  value: string;
}

export interface CardValues {
  /** The resource; empty for no cards. */
  resource: string;
  /** Whole ones, a part of one, or so much memory of one. */
  how: "count" | "share" | "memory";
  count: number;
  share: number;
  memory: string;
  /** The card of the node to take a part of; any if it is not said. */
  index?: number;
  /** Numbers of whole cards as people type them; any if it is empty. */
  indices: string;
}

export interface MountValues {
  claim: string;
  path: string;
  readOnly: boolean;
}

export const noCards: CardValues = {
  resource: "",
  how: "count",
  count: 1,
  share: 0.5,
  memory: "8Gi",
  indices: "",
};
/** Where a fault of them may stand, which is over when they are changed. */
export const cardFields = ["resource", "count", "share", "memory", "index", "indices"] as const;
/** The highest number that a card can be asked for by. */
const lastIndex = 127;

const reservedVariables = new Set([
  "NVIDIA_VISIBLE_DEVICES",
  "NVIDIA_MIG_CONFIG_DEVICES",
  "ASCEND_VISIBLE_DEVICES",
  "ASCEND_RT_VISIBLE_DEVICES",
  "AMD_VISIBLE_DEVICES",
]);

export function faultOfName(name: string, most: number): Fault | undefined {
  if (!name) return "required";
  return name.length <= most && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name) ? undefined : "name";
}

export function faultOfAmount(text: string): Fault | undefined {
  const value = parseQuantity(text);
  return value !== undefined && value > 0 ? undefined : "quantity";
}

export function faultOfPath(path: string): Fault | undefined {
  const parts = path.replace(/\/+$/, "").split("/").slice(1);
  const whole = path.startsWith("/") && parts.length > 0;
  if (!whole || parts.some((part) => part === "" || part === "." || part === "..")) return "path";
  const device = parts[0] === "dev" && !(parts.length === 2 && parts[1] === "shm");
  return device || parts[0] === "proc" || parts[0] === "sys" || path.includes(":") ? "path" : undefined;
}

export function faultOfVariable(name: string): Fault | undefined {
  if (!name) return "required";
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return "variable";
  return reservedVariables.has(name) || name.startsWith("MAAR_") ? "reserved" : undefined;
}

export function faultOfCards(cards: CardValues): Fault | undefined {
  if (!cards.resource) return undefined;
  if (cards.how === "count") {
    return Number.isInteger(cards.count) && cards.count >= 1 && cards.count <= 1024 ? undefined : "whole";
  }
  if (cards.how === "memory") return faultOfAmount(cards.memory);
  return cards.share > 0 && cards.share < 1 ? undefined : "share";
}

/** Numbers of cards, such as `0, 2-4`; nothing if they make no sense. */
export function indicesOf(text: string): number[] | undefined {
  const found: number[] = [];
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const [, first, last = first] = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(part) ?? [];
    if (!first || Number(last) > lastIndex || Number(last) < Number(first)) return undefined;
    for (let index = Number(first); index <= Number(last); index += 1) found.push(index);
  }
  return new Set(found).size === found.length ? found : undefined;
}

export function faultOfIndices({ resource, how, indices }: CardValues): Fault | undefined {
  return resource && how === "count" && !indicesOf(indices) ? "indices" : undefined;
}

export function cardsOf(cards: CardValues) {
  const { resource, index } = cards;
  if (!resource) return undefined;
  if (cards.how === "count") {
    const indices = indicesOf(cards.indices) ?? [];
    return indices.length ? { resource, count: indices.length, indices } : { resource, count: cards.count };
  }
  const part = cards.how === "share" ? { share: String(cards.share) } : { memory: cards.memory.trim() };
  return { resource, ...part, ...(index === undefined ? {} : { index }) };
}

/** Cards as a template or a job says them. */
export function cardValuesOf(cards: Record<string, unknown> | null | undefined): CardValues {
  if (!cards) return noCards;
  const how = (["count", "share", "memory"] as const).find((one) => cards[one] != null) ?? "count";
  return {
    resource: typeof cards.resource === "string" ? cards.resource : "nvidia.com/gpu",
    how,
    count: Number(cards.count ?? noCards.count),
    share: parseQuantity(cards.share as string | undefined) ?? noCards.share,
    memory: cards.memory == null ? noCards.memory : String(cards.memory),
    ...(typeof cards.index === "number" ? { index: cards.index } : {}),
    indices: Array.isArray(cards.indices) ? cards.indices.join(", ") : "",
  };
}

/** A command line as a shell reads it; nothing if it was left empty. */
export function commandOf(line: string): string[] | undefined {
  return line.trim() ? ["sh", "-c", line.trim()] : undefined;
}

/** A command and its arguments as one line, which a shell reads as the same words. */
export function lineOf(words: string[]): string {
  const plain = /^[\w@%+=:,./-]+$/;
  return words.map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** Puts faults of the rows of a list under the names that the form knows them by. */
export function rowFaults<Row>(
  list: string,
  rows: Row[],
  check: (row: Row) => Partial<Record<keyof Row, Fault | undefined>>,
): Record<string, Fault> {
  const faults: Record<string, Fault> = {};
  rows.forEach((row, index) => {
    for (const [field, fault] of Object.entries(check(row))) {
      if (fault) faults[`${list}.${index}.${field}`] = fault as Fault;
    }
  });
  return faults;
}

/** A name that is likely free, so that nobody has to think of one: three letters and three digits of chance. */
export function suggestName(prefix: string, chance: () => number): string {
  const letters = "bcdfghjkmnpqrstvwxz";
  const pick = (from: string) => from[Math.floor(chance() * from.length)] ?? "a";
  return `${prefix}-${pick(letters)}${pick("aeou")}${pick(letters)}${Math.floor(chance() * 90 + 10)}`;
}
