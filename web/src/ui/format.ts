// Numbers, amounts and times as people read them. Pure.

const binary: Record<string, number> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};
const decimal: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** An amount as Kubernetes writes it, such as 500m, 4Gi or 1e3; nothing if it is none. */
export function parseQuantity(text: string | number | null | undefined): number | undefined {
  if (typeof text === "number") return Number.isFinite(text) ? text : undefined;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?$/.exec(
    text?.trim() ?? "",
  );
  if (!match) return undefined;
  const [, digits = "", exponent, suffix = ""] = match;
  const factor = exponent ? 10 ** Number(exponent.slice(1)) : (binary[suffix] ?? decimal[suffix]);
  return factor === undefined ? undefined : Number(digits) * factor;
}

const trim = (value: number, digits = 1) => {
  const rounded = Number(value.toFixed(digits));
  return String(Object.is(rounded, -0) ? 0 : rounded);
};

/** Bytes, such as 1.5 GiB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${trim(value)} ${units[unit]}`;
}

const countsBytes = (resource: string) =>
  resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-");

/** An amount of a resource, in the unit that it is counted in. */
export function formatAmount(resource: string, amount: string | number | null | undefined): string {
  const value = parseQuantity(amount);
  if (value === undefined) return amount === undefined || amount === null ? "0" : String(amount);
  return countsBytes(resource) ? formatBytes(value) : trim(value, 2);
}

/** The number of percent of a whole, which may be nothing. */
export function percentOf(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.max(0, (part / whole) * 100)) : 0;
}

const steps = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A time span in its two largest units, such as 2 hr 5 min. */
export function formatDuration(seconds: number, language: string): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, length] of steps) {
    const count = Math.floor(rest / length);
    const begun = parts.length > 0;
    if (count > 0 || (unit === "second" && !begun)) {
      parts.push(
        new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(count),
      );
      rest -= count * length;
    }
    if (parts.length === 2 || (begun && count === 0)) break;
  }
  return parts.join(" ");
}

/** How far a moment is from now, such as 3 minutes ago. */
export function formatRelative(moment: Date, now: Date, language: string): string {
  const seconds = Math.round((moment.getTime() - now.getTime()) / 1000);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const away = Math.abs(seconds);
  if (away < 5) return format.format(0, "second");
  for (const [unit, length] of steps) {
    if (away >= length) return format.format(Math.round(seconds / length), unit);
  }
  return format.format(0, "second");
}

/** A moment in full, with the zone it is told in. */
export function formatMoment(moment: Date, language: string): string {
  return new Intl.DateTimeFormat(language, {
    dateStyle: "medium",
    timeStyle: "long",
  }).format(moment);
}

/** A moment of a list: short. */
export function formatShort(moment: Date, language: string): string {
  return new Intl.DateTimeFormat(language, {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  }).format(moment);
}

/** What a kind of card is called: `nvidia.com/gpu` says little to people. */
export function cardTitle(resource: string): string {
  const names: Record<string, string> = {
    "nvidia.com/gpu": "NVIDIA GPU",
    "amd.com/gpu": "AMD GPU",
    "huawei.com/Ascend910": "Ascend 910",
    "huawei.com/Ascend310P": "Ascend 310P",
    "rdma/hca": "RDMA",
  };
  return names[resource] ?? resource.replace(/^[^/]+\//, "");
}

/** The model of a card without what everybody knows. */
export function modelTitle(model: string | null | undefined): string | undefined {
  // A card that is offered in parts has a word for it at its end.
  const bare = model?.replace(/^(NVIDIA|huawei)-/, "").replace(/-SHARED$/, "");
  return bare?.replace(/-/g, " ") || undefined;
}

/** Cards that were given, such as `nvidia.com/gpu=2,3` or `nvidia.com/gpu=2:0.5`. */
export function givenTitle(given: string | null | undefined): string {
  const kinds = (given ?? "").split(";").flatMap((part) => {
    const [resource = "", cards] = part.trim().split("=");
    if (!cards) return [];
    const numbers = cards.split(",").map((card) => {
      const [index, share] = card.split(":");
      return share ? `${index} (${share})` : index;
    });
    return [`${cardTitle(resource)} ${numbers.join(", ")}`];
  });
  return kinds.join("; ") || "–";
}

/** The day of a moment such as 2026-11-16, where the reader is; empty if there is none. */
export function dayOf(moment: string | null | undefined): string {
  if (!moment) return "";
  const at = new Date(moment);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The moment at which a day such as 2026-11-16 is over, where the reader is. */
export function endOfDay(day: string): string {
  return new Date(`${day}T23:59:59`).toISOString();
}
