// What a program says: the last lines, and those that come; of the container before, too.
import { Button, Group, NativeSelect, Switch, Text, TextInput } from "@mantine/core";
import { IconDownload, IconSearch } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { readText } from "../api/client";
import { allLines, append, noLines, split } from "./logs";
import { Panel } from "./Panel";
import { ErrorState } from "./states";
import { saveFile } from "./TextView";
import classes from "./ui.module.css";

interface Asked {
  tail: string;
  follow: boolean;
  previous: boolean;
}

function useLog(path: string, asked: Asked, again: number) {
  const [lines, setLines] = useState(noLines);
  const [error, setError] = useState<unknown>();
  const [ended, setEnded] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` is counted up to begin anew
  useEffect(() => {
    const abort = new AbortController();
    setLines(noLines);
    setError(undefined);
    setEnded(false);
    const query = new URLSearchParams({
      tail: asked.tail,
      follow: String(asked.follow),
      previous: String(asked.previous),
    });
    // Pieces may come by the thousand; the page is drawn once for those of one frame.
    let waiting = "";
    let frame = 0;
    const draw = () => {
      frame = 0;
      const piece = waiting;
      waiting = "";
      setLines((before) => append(before, piece));
    };
    readText(
      `${path}${path.includes("?") ? "&" : "?"}${query}`,
      (piece) => {
        waiting += piece;
        if (!frame) frame = requestAnimationFrame(draw);
      },
      { signal: abort.signal },
    )
      .then(() => setEnded(true))
      .catch((cause: unknown) => {
        if (!abort.signal.aborted) setError(cause);
      });
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [path, asked.tail, asked.follow, asked.previous, again]);
  return { lines, error, ended };
}

export function LogView({ path, file }: { path: string; file: string }) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<Asked>({ tail: "1000", follow: true, previous: false });
  const [again, setAgain] = useState(0);
  const [search, setSearch] = useState("");
  const { lines, error, ended } = useLog(path, asked, again);
  const box = useRef<HTMLPreElement>(null);
  const shown = useMemo(() => {
    const all = allLines(lines);
    const wanted = search.toLowerCase();
    return wanted ? all.filter((line) => line.toLowerCase().includes(wanted)) : all;
  }, [lines, search]);

  // Stays at the end while the reader is there, and leaves him alone where he has scrolled up.
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with every line that comes
  useEffect(() => {
    const element = box.current;
    if (element && asked.follow && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [shown, asked.follow]);

  return (
    <Panel p={0}>
      <Group p="sm" gap="md">
        <TextInput
          aria-label={t("logs.search")}
          placeholder={t("logs.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          miw={180}
        />
        <NativeSelect
          aria-label={t("logs.tail")}
          value={asked.tail}
          onChange={(event) => setAsked({ ...asked, tail: event.currentTarget.value })}
          data={["100", "1000", "10000"].map((value) => ({
            value,
            label: t("logs.lines", { count: Number(value) }),
          }))}
        />
        <Switch
          label={t("logs.follow")}
          checked={asked.follow}
          onChange={(event) => setAsked({ ...asked, follow: event.currentTarget.checked })}
        />
        <Switch
          label={t("logs.previous")}
          checked={asked.previous}
          onChange={(event) => setAsked({ ...asked, previous: event.currentTarget.checked })}
        />
        <Button
          variant="default"
          leftSection={<IconDownload size={16} />}
          onClick={() => saveFile(file, `${allLines(lines).join("\n")}\n`)}
        >
          {t("actions.download")}
        </Button>
      </Group>
      {error ? (
        <ErrorState error={error} retry={() => setAgain(again + 1)} />
      ) : (
        <>
          <pre
            ref={box}
            className={`${classes.text} ${classes.mono} ${classes.wrap}`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            tabIndex={0}
            role="log"
            aria-label={t("tabs.logs")}
            onScroll={(event) => {
              const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
              atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
            }}
          >
            {shown.slice(-5000).map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else to tell them apart
              <Line key={index} line={line} search={search} />
            ))}
          </pre>
          <Text size="xs" c="dimmed" px="md" pb="sm" role="status">
            {shown.length === 0 && (search ? t("logs.noHit") : t("logs.nothing"))}{" "}
            {ended && asked.follow && t("logs.ended")}
          </Text>
        </>
      )}
    </Panel>
  );
}

function Line({ line, search }: { line: string; search: string }) {
  return (
    <>
      {split(line, search).map((piece, index) =>
        index % 2 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have nothing else to tell them apart
          <mark key={index} className={classes.hit}>
            {piece}
          </mark>
        ) : (
          piece
        ),
      )}
      {"\n"}
    </>
  );
}
