// The most that a user may have, as a form says it. Pure.
import type { Fault, Pair } from "../forms/values";
import { parseQuantity } from "../ui/format";

/** What can be limited besides cards and other devices. */
export const limitWords = ["workspaces", "jobs", "pods", "volumes", "storage", "cpu", "memory"];

/** What is wrong with rows, by the places of the form. A limit may be nothing: then he gets none of it. */
export function faultsOf({ rows }: { rows: Pair[] }): Record<string, Fault> {
  const faults: Record<string, Fault> = {};
  const names = rows.map(({ name }) => name.trim());
  rows.forEach(({ value }, index) => {
    if (!names[index]) faults[`rows.${index}.name`] = "required";
    else if (names.indexOf(names[index]) < index) faults[`rows.${index}.name`] = "resourceTwice";
    const amount = parseQuantity(value);
    if (amount === undefined || amount < 0) faults[`rows.${index}.value`] = "amount";
  });
  return faults;
}

/** The row that a field of the request is about. */
export function fieldOf(field: string, rows: Pair[]): string | undefined {
  const what = field.replace(/^limits\./, "");
  const index = rows.findIndex(({ name }) => name.trim() === what);
  return field.startsWith("limits.") && index >= 0 ? `rows.${index}.value` : undefined;
}
