// The life of a terminal's connection, as a state and what happens to it. Pure: sockets and timers are Connection's.
//
// Binary messages are bytes of the terminal, both ways. Text messages are JSON: `ready` first and `end` last from the
// portal, `resize` from the page.

export type State =
  | { at: "connecting"; attempt: number }
  | { at: "open"; pod?: string; container?: string }
  | { at: "waiting"; attempt: number; reason: Reason }
  | { at: "ended"; code: number | undefined; message: string }
  | { at: "failed"; reason: Reason };

/** Why there is no connection: it was lost, it never came about, or it was refused. */
export type Reason = "lost" | "unreachable" | "refused";

export type Happening =
  | { what: "ready"; pod?: string; container?: string }
  | { what: "end"; code?: number; message?: string }
  | { what: "closed"; code: number }
  | { what: "again" }
  | { what: "start" };

/** Tries in a row after which the user is asked instead. */
export const mostAttempts = 6;

export const initial: State = { at: "connecting", attempt: 0 };

// 1008 is what a portal closes with when the user may no longer be here.
const refused = new Set([1008, 4401, 4403]);

export function next(state: State, happening: Happening): State {
  switch (happening.what) {
    case "start":
      return initial;
    case "ready":
      return state.at === "connecting"
        ? { at: "open", pod: happening.pod, container: happening.container }
        : state;
    case "end":
      return { at: "ended", code: happening.code, message: happening.message ?? "" };
    case "again":
      return state.at === "waiting" ? { at: "connecting", attempt: state.attempt } : state;
    case "closed":
      return closed(state, happening.code);
  }
}

function closed(state: State, code: number): State {
  // What was said last counts: a connection that closes after its end has nothing to add.
  if (state.at === "ended" || state.at === "failed" || state.at === "waiting") return state;
  if (refused.has(code)) return { at: "failed", reason: "refused" };
  if (state.at === "open") return { at: "waiting", attempt: 1, reason: "lost" };
  const attempt = state.attempt + 1;
  const reason = state.attempt === 0 ? "unreachable" : "lost";
  return attempt >= mostAttempts ? { at: "failed", reason } : { at: "waiting", attempt, reason };
}

/** What a text message of the portal means; nothing if it is not understood. */
export function read(text: string): Happening | undefined {
  try {
    const message = JSON.parse(text) as Record<string, Record<string, unknown> | undefined>;
    if (message.ready) {
      return {
        what: "ready",
        pod: message.ready.pod as string | undefined,
        container: message.ready.container as string | undefined,
      };
    }
    if (message.end) {
      return {
        what: "end",
        code: typeof message.end.code === "number" ? message.end.code : undefined,
        message: typeof message.end.message === "string" ? message.end.message : "",
      };
    }
  } catch {
    // A portal that is newer than the page may say more.
  }
  return undefined;
}

export const resize = (columns: number, rows: number) => JSON.stringify({ resize: { columns, rows } });
