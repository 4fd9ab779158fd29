import { expect, it } from "vitest";
import { auditQuery } from "./audit";

it("asks for whole days, and for nothing that was left empty", () => {
  expect(auditQuery({ actor: " ada ", action: "", from: "2026-01-31", until: "2026-01-31" })).toEqual({
    actor: "ada",
    from: "2026-01-31T00:00:00.000Z",
    until: "2026-02-01T00:00:00.000Z",
  });
});
