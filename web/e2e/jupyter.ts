// JupyterLab for a workspace. Its image would bring it; the local node has none and shows Pods nothing but the system, so
// it is made here once and fetched from here as the workspace begins.
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { fetched } from "./fetched";
import { absent, kept } from "./helpers";

/** The versions that this was written with. */
const packages = ["jupyterlab==4.6.6", "ipykernel==7.4.0"];
const run = promisify(execFile);

/** A folder with it, made once for a build; nothing where it cannot be had, which is said. */
export async function jupyterLab(): Promise<string | undefined> {
  const folder = resolve(kept, "jupyterlab");
  const done = join(folder, "done");
  if (!existsSync(done)) {
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
    try {
      await run("/usr/bin/python3", ["-m", "venv", "--clear", folder]);
      await run(join(folder, "bin/python"), pip);
    } catch {
      absent("jupyterlab (by pip): no notebook was opened in a browser");
      return undefined;
    }
    writeFileSync(done, "");
  }
  return folder;
}

/** A workspace that fetches it and lets it listen on `port` of its loopback, with the options of the type Jupyter. */
export function workspace(from: Server, port: number) {
  const options = [
    "--ServerApp.ip=127.0.0.1",
    `--ServerApp.port=${port}`,
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--ServerApp.allow_remote_access=True",
    "--ServerApp.allow_root=True",
    "--ServerApp.root_dir=/tmp",
    // It would ask the internet whether there is news.
    "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--no-browser",
  ];
  return {
    command: fetched(from, ["/tmp/fetched/bin/python", "-m", "jupyterlab", ...options]),
    env: { HOME: "/tmp", JUPYTER_RUNTIME_DIR: "/tmp/runtime", JUPYTER_CONFIG_DIR: "/tmp/config" },
    ports: [{ name: "jupyter", port }],
  };
}
