// Starts a Maar of its own in a temporary folder and lets a browser walk through its pages. Where there is no Chromium it
// says so by name and is content: browsers are never downloaded.
//
//   MAAR_BIN       the binary (../target/debug/maar)
//   MAAR_CHROMIUM  the browser (the first of chromium, chromium-browser, google-chrome)
//   MAAR_PAGES     "preview" serves web/dist by Vite beside the binary instead of by the binary itself
//   MAAR_E2E       "all" looks at every page in both colours and both languages
//   MAAR_IMAGES    "1" lets images.spec.ts write the pictures of the README to docs/images
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./port.mjs";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const repository = resolve(web, "..");
export const password = "first-password-of-the-walk";

function find(names) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of names) if (existsSync(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

/** Where things are kept that are made once for a build, and the list of what is absent. */
const built = process.env.CARGO_TARGET_DIR ?? join(repository, "target");
const kept = join(built, "tmp");

function absent(what) {
  const line = `absent: ${what}`;
  console.error(line);
  mkdirSync(kept, { recursive: true });
  appendFileSync(join(kept, "absent"), `${line}\n`);
}

/** Waits for a line of a program that matches. */
function line(child, pattern, seconds) {
  return new Promise((done, fail) => {
    let text = "";
    const timer = setTimeout(
      () => fail(new Error(`it did not begin in ${seconds} s:\n${text}`)),
      seconds * 1000,
    );
    const take = (piece) => {
      text += piece;
      const found = pattern.exec(text);
      if (!found) return;
      clearTimeout(timer);
      done(found[1]);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("exit", (code) => fail(new Error(`it ended with ${code}:\n${text}`)));
  });
}

const children = [];
function start(program, args, options) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  children.push(child);
  return child;
}

async function pages(portal) {
  if (process.env.MAAR_PAGES !== "preview") return portal;
  const port = await freePort();
  const vite = start(
    process.execPath,
    ["node_modules/vite/bin/vite.js", "preview", "--port", String(port), "--host", "127.0.0.1"],
    {
      cwd: web,
      env: { ...process.env, MAAR_PORTAL: portal },
    },
  );
  await line(vite, /(127\.0\.0\.1)/, 30);
  return `http://127.0.0.1:${port}`;
}

/** Runs Playwright; answers its exit code. Not in one blocking call: nobody would read what Maar says meanwhile, and a
 * program whose words nobody takes stops. */
function walk(env) {
  const args = ["node_modules/@playwright/test/cli.js", "test", ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, {
    cwd: web,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  children.push(child);
  return new Promise((done) => child.on("exit", (code) => done(code ?? 1)));
}

async function main() {
  const chromium = process.env.MAAR_CHROMIUM ?? find(["chromium", "chromium-browser", "google-chrome"]);
  if (!chromium) {
    absent("chromium: the walk of a browser through the pages did not run");
    return 0;
  }
  const binary = resolve(web, process.env.MAAR_BIN ?? join(built, "debug", "maar"));
  if (!existsSync(binary)) throw new Error(`${binary} is not there: build it, or name it by MAAR_BIN`);
  const folder = mkdtempSync(join(tmpdir(), "maar-e2e-"));
  try {
    writeFileSync(join(folder, "password"), `${password}\n`);
    const args = [
      "up",
      "--port",
      "0",
      "--write-kubeconfig",
      "kubeconfig",
      "--admin-password-file",
      "password",
    ];
    const maar = start(binary, args, { cwd: folder });
    const portal = await line(maar, /Portal.*(http:\/\/127\.0\.0\.1:\d+)/, 60);
    const base = await pages(portal);
    console.log(`walking through ${base}`);
    mkdirSync(kept, { recursive: true });
    return await walk({
      MAAR_BASE: base,
      MAAR_PASSWORD: password,
      MAAR_CHROMIUM: chromium,
      MAAR_KEPT: kept,
    });
  } finally {
    for (const child of children) child.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error.message);
    process.exit(1);
  },
);
