// A shell in the browser.
import "@xterm/xterm/css/xterm.css";
import { Button, Group, Kbd, Text, useComputedColorScheme } from "@mantine/core";
import { IconLock, IconPlugConnected, IconRefresh, IconTerminal2 } from "@tabler/icons-react";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { asApiError } from "../api/error";
import { Panel } from "../ui/Panel";
import { Empty, ErrorState, useErrorText } from "../ui/states";
import { Connection } from "./connection";
import { initial, type State } from "./protocol";
import classes from "./terminal.module.css";

interface Props {
  path: string;
  /** Whether there is anything to connect to. */
  running: boolean;
}

export function Terminal({ path, running }: Props) {
  const { t } = useTranslation();
  if (!running) {
    return (
      <Empty icon={IconTerminal2} title={t("terminal.notRunning")}>
        {t("terminal.notRunningText")}
      </Empty>
    );
  }
  return <Shell key={path} path={path} />;
}

/** Colours that are read on black; the terminal is dark in both schemes, as people expect of one. */
const colours = {
  background: "#10161a",
  foreground: "#e6edf0",
  cursor: "#5eead4",
  selectionBackground: "#2f5f5a",
};

function Shell({ path }: { path: string }) {
  const { t } = useTranslation();
  const said = useErrorText();
  const box = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLButtonElement>(null);
  const connection = useRef<Connection>(undefined);
  const [state, setState] = useState<State>(initial);
  const [refusal, setRefusal] = useState<unknown>();
  const scheme = useComputedColorScheme("light");

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const screen = new Xterm({
      fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
      fontSize: 13.5,
      cursorBlink: true,
      scrollback: 5000,
      theme: colours,
      // What programs write is told to screen readers.
      screenReaderMode: true,
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(element);
    const made = new Connection(path, {
      onState: (next) => {
        setState(next);
        if (next.at === "open") screen.focus();
      },
      onBytes: (bytes) => screen.write(bytes),
      onRefusal: setRefusal,
    });
    connection.current = made;
    screen.onData((text) => made.send(text));
    screen.onResize(({ cols, rows }) => made.resize(cols, rows));
    screen.attachCustomKeyEventHandler((event) => keys(event, screen, leave.current));
    fit.fit();
    made.resize(screen.cols, screen.rows);
    made.start();
    const watcher = new ResizeObserver(() => fit.fit());
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.stop();
      screen.dispose();
    };
  }, [path]);

  const again = () => {
    setRefusal(undefined);
    connection.current?.start();
  };
  const code = refusal ? asApiError(refusal).code : undefined;
  // Nothing to connect to, and there never will be: the terminal itself would only be in the way.
  const hopeless = state.at !== "open" && code && ["notFound", "notAvailable", "forbidden"].includes(code);
  return (
    <>
      {hopeless &&
        (code === "forbidden" ? (
          <Empty icon={IconLock} title={t("terminal.notYours")}>
            {t("terminal.notYoursText")}
          </Empty>
        ) : (
          <ErrorState error={refusal} retry={again} missing="route" />
        ))}
      <div hidden={Boolean(hopeless)} data-scheme={scheme}>
        <Panel p={0}>
          <Group justify="space-between" px="md" py="xs">
            <StateLine state={state} refusal={refusal && state.at !== "open" ? said(refusal) : undefined} />
            <Group gap="sm">
              {(state.at === "ended" || state.at === "failed") && (
                <Button size="xs" leftSection={<IconRefresh size={14} />} onClick={again}>
                  {t("terminal.again")}
                </Button>
              )}
              <Text size="xs" c="dimmed" visibleFrom="sm">
                <Kbd size="xs">Ctrl</Kbd> + <Kbd size="xs">Shift</Kbd> + <Kbd size="xs">Esc</Kbd>{" "}
                {t("terminal.leave")}
              </Text>
              <button ref={leave} type="button" className={classes.exit}>
                {t("terminal.left")}
              </button>
            </Group>
          </Group>
          <div className={classes.frame}>
            <div ref={box} className={classes.screen} role="application" aria-label={t("tabs.terminal")} />
          </div>
        </Panel>
        <Text size="xs" c="dimmed" mt="xs">
          {t("terminal.copy")}
        </Text>
      </div>
    </>
  );
}

/** Copying and pasting as in other terminals, and a way out for those who have no mouse. */
function keys(event: KeyboardEvent, screen: Xterm, leave: HTMLElement | null): boolean {
  if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey) return true;
  if (event.key === "Escape") {
    leave?.focus();
    return false;
  }
  if (event.code === "KeyC" && screen.hasSelection()) {
    event.preventDefault();
    void navigator.clipboard?.writeText(screen.getSelection());
    return false;
  }
  // The browser pastes by itself: the terminal must not take the keys for something else.
  return event.code !== "KeyV";
}

function StateLine({ state, refusal }: { state: State; refusal?: string }) {
  const { t } = useTranslation();
  const text = () => {
    switch (state.at) {
      case "connecting":
        return t("terminal.connecting");
      case "open":
        return t("terminal.open", { pod: state.pod ?? "" });
      case "waiting":
        return refusal ?? t("terminal.waiting");
      case "failed":
        return refusal ?? t(`terminal.${state.reason}`);
      case "ended":
        return state.message || t("terminal.ended", { code: state.code ?? 0 });
    }
  };
  return (
    <Group gap={8} role="status" data-terminal={state.at}>
      <IconPlugConnected size={16} aria-hidden />
      <Text size="sm" fw={500}>
        {state.at === "ended" && `${t("terminal.over")} `}
        {text()}
      </Text>
    </Group>
  );
}
