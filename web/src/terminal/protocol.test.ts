import { describe, expect, it } from "vitest";
import { type Happening, initial, mostAttempts, next, read, resize, type State } from "./protocol";

const run = (happenings: Happening[], from: State = initial) => happenings.reduce(next, from);
const ready: Happening = { what: "ready", pod: "desk", container: "main" };
const lost: Happening = { what: "closed", code: 1006 };

describe("a terminal's connection", () => {
  it("is open once the portal says so", () => {
    expect(run([ready])).toEqual({ at: "open", pod: "desk", container: "main" });
  });

  it("comes back after it was lost, and begins to count anew when it is open again", () => {
    const waiting = run([ready, lost]);
    expect(waiting).toEqual({ at: "waiting", attempt: 1, reason: "lost" });
    expect(run([{ what: "again" }, lost], waiting)).toEqual({ at: "waiting", attempt: 2, reason: "lost" });
    expect(run([{ what: "again" }, ready, lost], waiting)).toEqual(waiting);
  });

  it("asks the user after some tries", () => {
    const tries: Happening[] = Array.from({ length: mostAttempts }, () => [
      lost,
      { what: "again" } as const,
    ]).flat();
    expect(run(tries)).toEqual({ at: "failed", reason: "lost" });
    expect(run([...tries, { what: "start" }])).toEqual(initial);
  });

  it("stays ended, with its reason, when the connection closes afterwards", () => {
    const ended = run([ready, { what: "end", code: 0, message: "exit" }, lost]);
    expect(ended).toEqual({ at: "ended", code: 0, message: "exit" });
  });

  it("does not try again what was refused", () => {
    expect(run([ready, { what: "closed", code: 1008 }])).toEqual({ at: "failed", reason: "refused" });
  });
});

describe("messages", () => {
  it("are understood, or left alone", () => {
    expect(read('{"ready":{"pod":"a","container":"b"}}')).toEqual({
      what: "ready",
      pod: "a",
      container: "b",
    });
    expect(read('{"end":{"code":137,"message":"killed"}}')).toEqual({
      what: "end",
      code: 137,
      message: "killed",
    });
    expect(read('{"later":{}}')).toBeUndefined();
    expect(read("{")).toBeUndefined();
    expect(resize(80, 24)).toBe('{"resize":{"columns":80,"rows":24}}');
  });
});
