import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { asApiError } from "../api/error";
import { Connection } from "./connection";
import type { State } from "./protocol";

/** A socket that tests speak through. */
class FakeSocket extends EventTarget {
  static all: FakeSocket[] = [];
  sent: (string | Uint8Array)[] = [];
  binaryType = "";
  constructor(
    readonly url: URL,
    readonly protocol: string,
  ) {
    super();
    FakeSocket.all.push(this);
  }
  send(data: string | Uint8Array) {
    this.sent.push(data);
  }
  close() {}
  say(data: object | ArrayBuffer) {
    const text = data instanceof ArrayBuffer ? data : JSON.stringify(data);
    this.dispatchEvent(new MessageEvent("message", { data: text }));
  }
  drop(code: number) {
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
}

let states: State["at"][];
let heard: number[];
let refusals: unknown[];
let connection: Connection;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.all = [];
  [states, heard, refusals] = [[], [], []];
  connection = new Connection("/api/v1/workspaces/a/b/terminal?pod=p", {
    onState: (state) => states.push(state.at),
    onBytes: (bytes) => heard.push(...bytes),
    onRefusal: (error) => refusals.push(error),
  });
  connection.resize(120, 40);
  connection.start();
});

afterEach(() => {
  connection.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const socket = () => FakeSocket.all.at(-1) as FakeSocket;

it("says how large the window is, and keeps what the address already has", () => {
  expect(socket().protocol).toBe("maar.terminal.v1");
  expect(socket().url.search).toBe("?pod=p&columns=120&rows=40");
});

it("sends nothing before it is open, and everything after", () => {
  connection.send("early");
  expect(socket().sent).toEqual([]);
  socket().say({ ready: { pod: "p", container: "c" } });
  connection.send("ls\n");
  expect(socket().sent[0]).toBe('{"resize":{"columns":120,"rows":40}}');
  expect(socket().sent[1]).toEqual(new TextEncoder().encode("ls\n"));
  socket().say(new Uint8Array([52, 50]).buffer);
  expect(heard).toEqual([52, 50]);
});

it("comes back after it was lost, and not after it ended", () => {
  socket().say({ ready: {} });
  socket().drop(1006);
  expect(states.at(-1)).toBe("waiting");
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all.length).toBe(2);
  socket().say({ ready: {} });
  socket().say({ end: { code: 0, message: "" } });
  socket().drop(1000);
  vi.advanceTimersByTime(60_000);
  expect(states.at(-1)).toBe("ended");
  expect(FakeSocket.all.length).toBe(2);
});

it("finds out why it was refused", async () => {
  const body = { code: "forbidden", message: "not yours", requestId: "r" };
  globalThis.fetch = async () => new Response(JSON.stringify(body), { status: 403 });
  socket().drop(1006);
  await vi.waitFor(() => expect(refusals.map((error) => asApiError(error).code)).toEqual(["forbidden"]));
});

it("is quiet once it was left", () => {
  const left = socket();
  connection.stop();
  left.drop(1006);
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all.length).toBe(1);
});
