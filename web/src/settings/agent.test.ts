import { expect, it } from "vitest";
import { agentTitle } from "./agent";

it("names browsers as people do", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36";
  expect(agentTitle(chrome)).toBe("Chrome · Linux");
  expect(agentTitle(`${chrome} Edg/130.0`)).toBe("Edge · Linux");
  expect(agentTitle("curl/8.9")).toBe("curl");
  expect(agentTitle(undefined)).toBeUndefined();
});
