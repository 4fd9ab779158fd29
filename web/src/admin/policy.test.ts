import { expect, it } from "vitest";
import { initialPolicy, rulesOf, specOf, valuesOf } from "./policy";

it("keeps what the form does not know", () => {
  const before = { timeZone: "Asia/Shanghai", waiting: { minutes: 60, warnMinutes: 5, types: ["Single"] } };
  const values = valuesOf("night", before);
  expect(values.waiting).toEqual({ on: true, minutes: 60, warnMinutes: 5, types: ["Single"] });
  expect(values.idle.on).toBe(false);
  expect(specOf(values, before)).toEqual(before);
});

it("takes out rules that were switched off", () => {
  const spec = specOf({ ...initialPolicy, account: "a" });
  expect(rulesOf(spec).map((rule) => rule.kind)).toEqual(["idle"]);
  expect(
    specOf({ ...initialPolicy, account: "a", idle: { ...initialPolicy.idle, on: false } }, spec),
  ).toEqual({});
});
