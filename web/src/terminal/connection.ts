// A terminal's socket: opens it, comes back when it is lost, and finds out why it could not be opened.
import { waitBefore } from "../api/backoff";
import { readText } from "../api/client";
import { type Happening, initial, next, read, resize, type State } from "./protocol";

const backoff = { firstMs: 500, mostMs: 15_000 };

interface Ears {
  onState: (state: State) => void;
  onBytes: (bytes: Uint8Array) => void;
  /** The portal's word on why it refuses, where it has one. */
  onRefusal: (error: unknown) => void;
}

export class Connection {
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: State = initial;
  private readonly encoder = new TextEncoder();
  private readonly path: string;
  private readonly ears: Ears;
  private size = { columns: 80, rows: 24 };

  constructor(path: string, ears: Ears) {
    this.path = path;
    this.ears = ears;
  }

  start() {
    this.take({ what: "start" });
    this.open();
  }

  stop() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  send(text: string) {
    if (this.state.at === "open") this.socket?.send(this.encoder.encode(text));
  }

  resize(columns: number, rows: number) {
    this.size = { columns, rows };
    if (this.state.at === "open") this.socket?.send(resize(columns, rows));
  }

  private open() {
    const { columns, rows } = this.size;
    const address = new URL(this.path, location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("columns", String(columns));
    address.searchParams.set("rows", String(rows));
    const socket = new WebSocket(address, "maar.terminal.v1");
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.addEventListener("message", (event: MessageEvent<string | ArrayBuffer>) => {
      if (this.socket !== socket) return;
      if (typeof event.data !== "string") return this.ears.onBytes(new Uint8Array(event.data));
      const happening = read(event.data);
      if (!happening) return;
      this.take(happening);
      // The window may have changed while the connection was made.
      if (happening.what === "ready") this.resize(this.size.columns, this.size.rows);
    });
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      const never = this.state.at === "connecting";
      this.take({ what: "closed", code: event.code });
      if (never) void this.askWhy();
    });
  }

  /** A browser does not tell why a socket was refused. Asking the same without one does. */
  private async askWhy() {
    try {
      await readText(this.path, () => undefined);
    } catch (error) {
      this.ears.onRefusal(error);
    }
  }

  private take(happening: Happening) {
    const before = this.state;
    this.state = next(before, happening);
    if (this.state === before) return;
    this.ears.onState(this.state);
    if (this.state.at === "waiting") {
      const wait = waitBefore(this.state.attempt - 1, backoff, Math.random());
      this.timer = setTimeout(() => {
        this.take({ what: "again" });
        this.open();
      }, wait);
    }
  }
}
