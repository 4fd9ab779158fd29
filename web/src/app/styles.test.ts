import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("every component of Mantine that pages use has its styles", () => {
  const listed = readFileSync("src/app/mantine.css", "utf8");
  const used = new Set<string>();
  for (const path of readdirSync("src", { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".tsx")) continue;
    const found = /import \{([^}]*)\} from "@mantine\/core"/.exec(readFileSync(`src/${path}`, "utf8"));
    for (const name of found?.[1]?.split(",") ?? []) used.add(name.trim());
  }
  const styled = [...used].filter((name) => existsSync(`node_modules/@mantine/core/styles/${name}.css`));
  expect(styled).toContain("Button");
  expect(styled.filter((name) => !listed.includes(`/${name}.css"`))).toEqual([]);
});
