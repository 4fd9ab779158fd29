// The one stream of changes. It keeps what pages hold up to date, so that no page has to ask again and again.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { waitBefore } from "./backoff";
import { type Change, changeList, changeOne, type ListPage, readChange } from "./change";

export type LiveState = "connecting" | "live" | "lost";

const backoff = { firstMs: 1000, mostMs: 30_000 };
/** A busy cluster changes nodes many times a second; reading them again this often is enough for eyes. */
const gatherMs = 150;

/** What is read again when the stream tells of a change that it says no more of. */
const news = { volume: "volumes", app: "apps", account: "accounts", quota: "quota" };

export class Live {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private gathered = new Set<string>();
  private gatherTimer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private wasLost = false;
  private listeners = new Set<() => void>();
  private readonly queries: QueryClient;
  state: LiveState = "connecting";

  constructor(queries: QueryClient) {
    this.queries = queries;
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start() {
    if (this.source || this.timer) return;
    this.open();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    clearTimeout(this.gatherTimer);
    this.gatherTimer = undefined;
    this.gathered.clear();
    this.source?.close();
    this.source = undefined;
    this.attempt = 0;
    this.become("connecting");
  }

  private open() {
    this.timer = undefined;
    const source = new EventSource("/api/v1/changes");
    this.source = source;
    source.addEventListener("ready", () => {
      this.attempt = 0;
      // Whatever happened in between was not told.
      if (this.wasLost) void this.queries.invalidateQueries();
      this.wasLost = false;
      this.become("live");
    });
    source.addEventListener("reload", () => void this.queries.invalidateQueries());
    // Of these only that there is news: what is shown of them depends on who looks.
    for (const [topic, key] of Object.entries(news)) source.addEventListener(topic, () => this.gather(key));
    for (const topic of ["workspace", "job", "node"] as const) {
      source.addEventListener(topic, (event) => {
        const change = readChange(topic, (event as MessageEvent<string>).data);
        if (change) this.take(change);
      });
    }
    // EventSource gives up for good on some errors and comes back too fast on others: this is ours to decide.
    source.addEventListener("error", () => this.lose(source));
  }

  private lose(source: EventSource) {
    source.close();
    if (this.source !== source) return;
    this.source = undefined;
    this.wasLost = true;
    this.become("lost");
    this.timer = setTimeout(() => this.open(), waitBefore(this.attempt, backoff, Math.random()));
    this.attempt += 1;
    // The session may have ended, which is no fault of the network: asking who we are finds out.
    void this.queries.invalidateQueries({ queryKey: ["me"] });
  }

  private become(state: LiveState) {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  private take(change: Change) {
    if (change.topic === "node") {
      this.gather("nodes");
    } else {
      const root = change.topic === "workspace" ? "workspaces" : "jobs";
      this.changeLists(root, change);
      this.changeDetail(root, change);
      this.gather("home");
      // Volumes are told to be in use by work, and accounts pay for it.
      this.gather("volumes");
      this.gather("accounts");
    }
    this.gather("overview");
    this.gather("quota");
  }

  private changeLists(root: string, change: Change) {
    const lists = this.queries.getQueriesData<InfiniteData<ListPage>>({ queryKey: [root, "list"] });
    for (const [key, data] of lists) {
      if (!data) continue;
      const { pages, stale } = changeList(data.pages, change);
      if (pages !== data.pages) this.queries.setQueryData(key, { ...data, pages });
      if (stale) this.gather(`${root}/list`);
    }
  }

  private changeDetail(root: string, change: Change) {
    const key = [root, "one", change.namespace, change.name];
    if (change.gone) {
      void this.queries.invalidateQueries({ queryKey: key });
      return;
    }
    this.queries.setQueryData<Record<string, unknown>>(key, (one) => one && changeOne(one, change));
    this.gather(key.join("/"));
  }

  /** Reads again what a key names, once for everything that happens at the same time. */
  private gather(key: string) {
    this.gathered.add(key);
    this.gatherTimer ??= setTimeout(() => {
      this.gatherTimer = undefined;
      const keys = [...this.gathered];
      this.gathered.clear();
      for (const one of keys) void this.readAgain(one);
    }, gatherMs);
  }

  /**
   * What is being read is left to end: on a cluster that changes faster than it can be read, nothing would ever arrive
   * otherwise. It may have missed what happened since it began, so that it is read once more after that.
   */
  private async readAgain(key: string) {
    const filter = { queryKey: key.split("/") };
    const late = this.queries.isFetching(filter) > 0;
    await this.queries.invalidateQueries(filter, { cancelRefetch: false });
    if (late && this.source) this.gather(key);
  }
}
