// code-server for a workspace. As with Jupyter, an image would bring it; it is made here once and fetched from here.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { absent, kept } from "./helpers";

/** The newest that runs with Node 20, which is what Pods of the local node see. */
const version = "4.100.3";
/** What of it has to be built: terminals, logs, and an end with its parent (and argon2, for passwords that it is not given). */
const native = ["node-pty", "@vscode/spdlog", "native-watchdog"];
const run = promisify(execFile);

/** A folder with it, made once for a build; nothing where it cannot be had, which is said. */
export async function codeServer(): Promise<string | undefined> {
  const folder = resolve(kept, "code-server");
  const done = join(folder, "done");
  if (existsSync(done)) return folder;
  try {
    if (!process.version.startsWith("v20."))
      throw new Error(`it is for Node 20, and this is ${process.version}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    // So that npm does not look for one further up.
    writeFileSync(join(folder, "package.json"), "{}");
    // Not by its own script, which wants to fetch a program for searching from elsewhere.
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", "--no-save", ...quiet, `code-server@${version}`], { cwd: folder });
    const editor = join(folder, "node_modules/code-server/lib/vscode");
    await run("npm", ["install", "--omit=dev", ...quiet], { cwd: editor });
    await run("npm", ["rebuild", "--yes", ...native], { cwd: editor });
    await run("npm", ["rebuild", "argon2"], { cwd: folder });
    symlinkSync("node_modules", join(editor, "node_modules.asar"));
  } catch (error) {
    absent(`code-server (by npm): no editor was opened in a browser (${String(error).split("\n")[0]})`);
    return undefined;
  }
  writeFileSync(done, "");
  return folder;
}
