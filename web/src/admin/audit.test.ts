import { expect, it } from "vitest";
import document from "../../../docs/reference/openapi.json";
import en from "../i18n/en.json";
import { auditQuery } from "./audit";

it("asks for whole days, and for nothing that was left empty", () => {
  expect(auditQuery({ actor: " ada ", action: "", from: "2026-01-31", until: "2026-01-31" })).toEqual({
    actor: "ada",
    from: "2026-01-31T00:00:00.000Z",
    until: "2026-02-01T00:00:00.000Z",
  });
});

it("has words for whatever the log may hold", () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.entries(path));
  const inside = /^(exec|forward|open.*Terminal)/;
  const logged = operations
    .filter(([method, { operationId }]) => method !== "get" || inside.test(operationId))
    .map(([, { operationId }]) => operationId)
    // What tools ask as standards say is logged as what it means.
    .filter((name) => !["authorizeByForm", "beginDevice", "readUserinfoByForm"].includes(name));
  expect(logged.length).toBeGreaterThan(60);
  expect(logged.filter((name) => !(name in en.audit.actions))).toEqual([]);
});
