// Programs that an image would bring: Pods of the local node see nothing but the system, so they fetch a folder from here.
import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Gives a folder to whoever asks, as tar. */
export async function give(folder: string): Promise<Server> {
  const server = createServer((_, response) => {
    spawn("tar", ["-C", folder, "-c", "."], { stdio: ["ignore", "pipe", "ignore"] }).stdout.pipe(response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

const fetching = [
  "import sys, tarfile, urllib.request",
  "tarfile.open(fileobj=urllib.request.urlopen(sys.argv[1]), mode='r|').extractall('/tmp/fetched')",
].join("\n");

/** Runs a command when the folder is in /tmp/fetched. */
export function fetched(from: Server, command: string[]): string[] {
  const url = `http://127.0.0.1:${(from.address() as AddressInfo).port}/`;
  const script = '/usr/bin/python3 -c "$1" "$2" && shift 2 && exec "$@"';
  return ["sh", "-c", script, "sh", fetching, url, ...command];
}
