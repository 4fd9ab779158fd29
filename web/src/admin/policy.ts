// Rules of a clean-up policy: as they are shown, and as the form holds them. Pure.
import type { JobType } from "../api/types";

type Amount = number | string;

export interface PolicyValues {
  account: string;
  longRunning: { on: boolean; batchHours: Amount; interactiveHours: Amount; warnHours: Amount };
  idle: { on: boolean; windowMinutes: Amount; percent: Amount; warnMinutes: Amount };
  waiting: { on: boolean; minutes: Amount; warnMinutes: Amount; types: JobType[] };
  nightly: { on: boolean; at: string; timeZone: string; warnMinutes: Amount };
}

export const initialPolicy: PolicyValues = {
  account: "",
  longRunning: { on: false, batchHours: 168, interactiveHours: 24, warnHours: 2 },
  idle: { on: true, windowMinutes: 120, percent: 5, warnMinutes: 60 },
  waiting: { on: false, minutes: 10_080, warnMinutes: 60, types: [] },
  nightly: { on: false, at: "23:00", timeZone: "UTC", warnMinutes: 30 },
};

/** The numbers of each rule, and between what they have to be; the portal decides all the same. */
export const rules = {
  longRunning: { batchHours: [1, 87_600], interactiveHours: [1, 87_600], warnHours: [0, 87_600] },
  idle: { windowMinutes: [1, 43_200], percent: [0, 99], warnMinutes: [0, 43_200] },
  waiting: { minutes: [1, 525_600], warnMinutes: [0, 43_200] },
  nightly: { warnMinutes: [0, 1440] },
} as const;

type Spec = Record<string, unknown>;
export type Rule = keyof typeof rules;
export const kinds = Object.keys(rules) as Rule[];

/** The rules that are in a policy, each with its numbers. */
export function rulesOf(spec: Spec | undefined) {
  return kinds.flatMap((kind) => {
    const values = spec?.[kind] as Record<string, number | string> | undefined;
    return values ? [{ kind, values }] : [];
  });
}

export function valuesOf(account: string, spec: Spec | undefined): PolicyValues {
  const values = structuredClone({ ...initialPolicy, account });
  if (!spec) return values;
  for (const kind of kinds) {
    const said = spec[kind] as Record<string, number> | undefined;
    Object.assign(values[kind], said ?? {}, { on: Boolean(said) });
  }
  return values;
}

/** Fields whose number is missing or out of its bounds, with those. */
export function boundsBroken(values: PolicyValues): Record<string, readonly [number, number]> {
  const wrong: Record<string, readonly [number, number]> = {};
  for (const kind of kinds.filter((one) => values[one].on)) {
    for (const [field, bounds] of Object.entries(rules[kind])) {
      const value = (values[kind] as Record<string, unknown>)[field];
      const fits = typeof value === "number" && value >= bounds[0] && value <= bounds[1];
      if (!fits) wrong[`${kind}.${field}`] = bounds;
    }
  }
  return wrong;
}

/** The policy that the form means. What the form does not know of an existing one stays as it is. */
export function specOf(values: PolicyValues, before: Spec = {}): Spec {
  const spec: Spec = { ...before };
  for (const kind of kinds) {
    const { on, ...said } = values[kind];
    if (on) spec[kind] = { ...((before[kind] as object | undefined) ?? {}), ...said };
    else delete spec[kind];
  }
  return spec;
}
