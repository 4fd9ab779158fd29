// Writes src/api/schema.d.ts from the OpenAPI document; with --check it only says whether the file is up to date.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const document = here("../../docs/reference/openapi.json");
const written = here("../src/api/schema.d.ts");
const tool = here("../openapi");

if (!existsSync(`${tool}/node_modules/openapi-typescript`)) {
  // As dev/web does, and not `npm ci`: not every registry has the optional packages of other systems.
  execFileSync("npm", ["install", "--no-save", "--no-audit", "--no-fund"], { cwd: tool, stdio: "inherit" });
}
const made = execFileSync(
  process.execPath,
  [`${tool}/node_modules/openapi-typescript/bin/cli.js`, document],
  {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  },
);
if (!process.argv.includes("--check")) {
  writeFileSync(written, made);
  console.log("wrote src/api/schema.d.ts");
} else if (!existsSync(written) || readFileSync(written, "utf8") !== made) {
  console.error("src/api/schema.d.ts is not what docs/reference/openapi.json says: run npm run generate");
  process.exit(1);
}
