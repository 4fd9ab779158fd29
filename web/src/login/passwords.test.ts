import { expect, it } from "vitest";
import { faultOf } from "./passwords";

it("asks of a password what the portal asks", () => {
  const fault = (next: string, again = next) => faultOf({ current: "old password", next, again }, "ada");
  expect(fault("too short")).toBe("short");
  expect(fault("x".repeat(257))).toBe("long");
  expect(fault("old password")).toBe("same");
  expect(fault("aaaaaaaaaaaa")).toBe("easy");
  expect(fault("ada1234567")).toBe("easy");
  expect(fault("ada and a long sentence")).toBeUndefined();
  expect(fault("correct horse", "correct horsf")).toBe("differs");
  expect(fault("correct horse")).toBeUndefined();
  expect(fault("正确的马电池订书钉一二三")).toBeUndefined();
});
