import { expect, it } from "vitest";
import { boundsBroken, initialPolicy, rulesOf, specOf, valuesOf } from "./policy";

it("keeps what the form does not know", () => {
  const before = { timeZone: "Asia/Shanghai", waiting: { minutes: 60, warnMinutes: 5, types: ["Single"] } };
  const values = valuesOf("night", before);
  expect(values.waiting).toEqual({ on: true, minutes: 60, warnMinutes: 5, types: ["Single"] });
  expect(values.idle.on).toBe(false);
  expect(specOf(values, before)).toEqual(before);
});

it("knows nights", () => {
  const before = { nightly: { at: "23:30", timeZone: "Asia/Shanghai", warnMinutes: 15 } };
  expect(rulesOf(before).map((rule) => rule.kind)).toEqual(["nightly"]);
  const values = valuesOf("lab", before);
  expect(specOf(values, before)).toEqual(before);
  const late = { ...values, nightly: { ...values.nightly, warnMinutes: 2000 } };
  expect(boundsBroken(late)).toEqual({ "nightly.warnMinutes": [0, 1440] });
});

it("takes out rules that were switched off", () => {
  const spec = specOf({ ...initialPolicy, account: "a" });
  expect(rulesOf(spec).map((rule) => rule.kind)).toEqual(["idle"]);
  expect(
    specOf({ ...initialPolicy, account: "a", idle: { ...initialPolicy.idle, on: false } }, spec),
  ).toEqual({});
});

it("finds numbers that are missing or out of bounds, of rules that are on", () => {
  const values = valuesOf("a", { idle: { windowMinutes: 0, percent: 100, warnMinutes: 5 } });
  expect(Object.keys(boundsBroken(values))).toEqual(["idle.windowMinutes", "idle.percent"]);
  expect(boundsBroken({ ...values, idle: { ...values.idle, on: false } })).toEqual({});
  const empty = { ...initialPolicy, idle: { ...initialPolicy.idle, warnMinutes: "" } };
  expect(boundsBroken(empty)).toEqual({ "idle.warnMinutes": [0, 43_200] });
});
