// What a program says: the last lines, and those that come; of the container before, too.
import { Button, Group, NativeSelect, Switch, Text, TextInput } from "@mantine/core";
import { IconDownload, IconSearch } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { readText } from "../api/client";
import { formatDuration } from "./format";
import { allLines, append, noLines, split } from "./logs";
import { Panel } from "./Panel";
import { ErrorState } from "./states";
import { saveFile } from "./TextView";
import classes from "./ui.module.css";

interface Asked {
  /** Only of so many seconds; of any time if it is empty. */
  since: string;
  container: string;
  tail: string;
  follow: boolean;
  previous: boolean;
}

const atFirst: Asked = { since: "", container: "", tail: "1000", follow: true, previous: false };

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
      ...(asked.since ? { sinceSeconds: asked.since } : {}),
      ...(asked.container ? { container: asked.container } : {}),
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
  }, [path, asked.tail, asked.follow, asked.previous, asked.since, asked.container, again]);
  return { lines, error, ended };
}

interface Props {
  path: string;
  file: string;
  /** Programs of the Pod that say something, where there are several. */
  containers?: string[];
}

const spans = ["300", "3600", "86400"];

export function LogView({ path, file, containers = [] }: Props) {
  const { t, i18n } = useTranslation();
  const [asked, setAsked] = useState<Asked>(atFirst);
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
      <Group p="sm" gap="sm">
        <TextInput
          aria-label={t("logs.search")}
          placeholder={t("logs.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          miw={140}
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
        <NativeSelect
          aria-label={t("logs.since")}
          value={asked.since}
          onChange={(event) => setAsked({ ...asked, since: event.currentTarget.value })}
          data={[
            { value: "", label: t("logs.always") },
            ...spans.map((value) => ({
              value,
              label: t("logs.last", { span: formatDuration(Number(value), i18n.language) }),
            })),
          ]}
        />
        {containers.length > 1 && (
          <NativeSelect
            aria-label={t("logs.container")}
            value={asked.container}
            onChange={(event) => setAsked({ ...asked, container: event.currentTarget.value })}
            data={[{ value: "", label: t("logs.firstContainer") }, ...containers]}
          />
        )}
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
