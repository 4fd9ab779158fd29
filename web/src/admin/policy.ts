// Rules of a clean-up policy: as they are shown, and as the form holds them. Pure.

export interface PolicyValues {
  account: string;
  longRunning: { on: boolean; batchHours: number; interactiveHours: number; warnHours: number };
  idle: { on: boolean; windowMinutes: number; percent: number; warnMinutes: number };
  waiting: { on: boolean; minutes: number; warnMinutes: number };
}

export const initialPolicy: PolicyValues = {
  account: "",
  longRunning: { on: false, batchHours: 168, interactiveHours: 24, warnHours: 2 },
  idle: { on: true, windowMinutes: 120, percent: 5, warnMinutes: 60 },
  waiting: { on: false, minutes: 10_080, warnMinutes: 60 },
};

type Spec = Record<string, unknown>;
const kinds = ["longRunning", "idle", "waiting"] as const;

/** The rules that are in a policy, each with its numbers. */
export function rulesOf(spec: Spec | undefined) {
  return kinds.flatMap((kind) => {
    const values = spec?.[kind] as Record<string, number> | undefined;
    return values ? [{ kind, values }] : [];
  });
}

export function valuesOf(account: string, spec: Spec | undefined): PolicyValues {
  const values = structuredClone({ ...initialPolicy, account });
  if (!spec) return values;
  for (const kind of kinds) {
    const said = spec[kind] as Record<string, number> | undefined;
    Object.assign(values[kind], said ?? {}, { on: said !== undefined });
  }
  return values;
}

/** The policy that the form means. What the form does not know of an existing one stays as it is. */
export function specOf(values: PolicyValues, before: Spec = {}): Spec {
  const spec: Spec = { ...before };
  for (const kind of kinds) {
    const { on, ...numbers } = values[kind];
    if (on) spec[kind] = { ...((before[kind] as object | undefined) ?? {}), ...numbers };
    else delete spec[kind];
  }
  return spec;
}
