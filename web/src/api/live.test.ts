import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Live } from "./live";

/** A stream that tests speak through. */
class FakeSource extends EventTarget {
  static last: FakeSource;
  static count = 0;
  closed = false;
  constructor(readonly url: string) {
    super();
    FakeSource.last = this;
    FakeSource.count += 1;
  }
  close() {
    this.closed = true;
  }
  say(name: string, data: object = {}) {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

let queries: QueryClient;
let live: Live;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  FakeSource.count = 0;
  queries = new QueryClient();
  live = new Live(queries);
  live.start();
});

afterEach(() => {
  live.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it("puts changes where pages hold them", () => {
  const key = ["workspaces", "list", {}];
  queries.setQueryData(key, {
    pages: [{ items: [{ namespace: "a", name: "x", phase: "Pending" }] }],
    pageParams: [],
  });
  queries.setQueryData(["workspaces", "one", "a", "x"], {
    namespace: "a",
    name: "x",
    phase: "Pending",
    spec: 1,
  });
  const item = { namespace: "a", name: "x", phase: "Running" };
  FakeSource.last.say("workspace", { namespace: "a", name: "x", gone: false, item });
  expect(queries.getQueryData(key)).toMatchObject({ pages: [{ items: [item] }] });
  expect(queries.getQueryData(["workspaces", "one", "a", "x"])).toEqual({ ...item, spec: 1 });
});

it("reads nodes again once for many changes", () => {
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  for (let count = 0; count < 50; count += 1)
    FakeSource.last.say("node", { name: `n-${count}`, gone: false });
  vi.advanceTimersByTime(200);
  const nodes = invalidate.mock.calls.filter(([filter]) => filter?.queryKey?.[0] === "nodes");
  expect(nodes.length).toBe(1);
});

it.each([
  ["volume", { namespace: "a", name: "data" }, "volumes"],
  ["app", { namespace: "a", name: "board" }, "apps"],
  ["account", { name: "physics" }, "accounts"],
  ["quota", { namespace: "a" }, "quota"],
])("reads again what a change of a %s is about, and nothing else", (topic, data, key) => {
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  FakeSource.last.say(topic, { ...data, gone: false });
  FakeSource.last.say(topic, { ...data, gone: true });
  vi.advanceTimersByTime(200);
  expect(invalidate.mock.calls.map(([filter]) => filter?.queryKey)).toEqual([[key]]);
});

it("comes back after it was lost, and reads everything again", () => {
  FakeSource.last.say("ready");
  expect(live.state).toBe("live");
  const first = FakeSource.last;
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  first.dispatchEvent(new Event("error"));
  expect(live.state).toBe("lost");
  expect(first.closed).toBe(true);
  vi.advanceTimersByTime(1001);
  expect(FakeSource.count).toBe(2);
  FakeSource.last.say("ready");
  expect(live.state).toBe("live");
  expect(invalidate.mock.calls.some(([filter]) => filter === undefined)).toBe(true);
});

it("reads everything again when the portal says that it missed something, and goes on", () => {
  FakeSource.last.say("ready");
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  FakeSource.last.say("reload");
  expect(invalidate.mock.calls).toEqual([[]]);
  expect([live.state, FakeSource.count, FakeSource.last.closed]).toEqual(["live", 1, false]);
});

it("reads again what depends on work, and nothing else that nobody has changed", async () => {
  const read: string[] = [];
  const leave = ["volumes", "accounts", "templates"].map((root) =>
    new QueryObserver(queries, {
      queryKey: [root],
      queryFn: () => {
        read.push(root);
        return root;
      },
      staleTime: Number.POSITIVE_INFINITY,
    }).subscribe(() => {}),
  );
  await vi.advanceTimersByTimeAsync(0);
  read.length = 0;
  FakeSource.last.say("workspace", { namespace: "a", name: "x", gone: true });
  await vi.advanceTimersByTimeAsync(200);
  expect(read.sort()).toEqual(["accounts", "volumes"]);
  for (const one of leave) one();
});

it("asks who is signed in when it is lost: the session may have ended", () => {
  FakeSource.last.say("ready");
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  FakeSource.last.dispatchEvent(new Event("error"));
  expect(invalidate.mock.calls).toEqual([[{ queryKey: ["me"] }]]);
});

it("listens again for whoever signs in after it was stopped", () => {
  FakeSource.last.say("ready");
  const first = FakeSource.last;
  live.stop();
  expect([first.closed, live.state]).toEqual([true, "connecting"]);
  // What the old stream still has to say is for nobody.
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  first.dispatchEvent(new Event("error"));
  vi.advanceTimersByTime(60_000);
  expect([FakeSource.count, invalidate.mock.calls.length]).toEqual([1, 0]);
  live.start();
  expect(FakeSource.count).toBe(2);
  FakeSource.last.say("ready");
  expect(live.state).toBe("live");
});

it("stays away once it was stopped", () => {
  FakeSource.last.dispatchEvent(new Event("error"));
  live.stop();
  vi.advanceTimersByTime(60_000);
  expect(FakeSource.count).toBe(1);
});

it("shows nodes that change faster than they can be read, and in the end as they are", async () => {
  let changes = 0;
  const reads: number[] = [];
  const shown: number[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ["nodes", "list"],
    queryFn: async ({ signal }) => {
      const seen = changes;
      reads.push(seen);
      await new Promise((done, refuse) => {
        signal.addEventListener("abort", refuse);
        setTimeout(done, 400);
      });
      return seen;
    },
  });
  const leave = observer.subscribe(({ data }) => {
    if (data !== undefined && data !== shown.at(-1)) shown.push(data);
  });
  for (; changes < 100; ) {
    changes += 1;
    FakeSource.last.say("node", { name: "n-1", gone: false });
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(shown.length).toBeGreaterThan(5);
  await vi.advanceTimersByTimeAsync(2000);
  expect(shown.at(-1)).toBe(100);
  const read = reads.length;
  await vi.advanceTimersByTimeAsync(5000);
  expect(reads.length).toBe(read);
  leave();
});
