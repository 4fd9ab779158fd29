// All cards of the cluster: how busy they are, who is on them, and which are free.
import { Button, Grid, NativeSelect, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { IconFilterOff, IconLayoutGrid, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeView } from "../api/types";
import { useMe } from "../app/session";
import { cardTitle, modelTitle } from "../ui/format";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { useNow } from "../ui/When";
import { CardDetails } from "./CardDetails";
import { CardGrid } from "./CardGrid";
import classes from "./heatmap.module.css";
import { Legend } from "./Legend";
import { type Cell, everything, type Filter, filterRows, type Metric, rowsOf } from "./model";
import { historyQuery, nodesQuery } from "./queries";

export function HeatmapPage() {
  const { t } = useTranslation();
  // Who is where comes with the stream of changes; how busy a card is has to be asked for.
  const query = useQuery({ ...nodesQuery, refetchInterval: 15_000 });
  return (
    <>
      <PageHeader title={t("nav.cards")} text={t("heatmap.text")} />
      <Loaded query={query}>{(nodes) => <Heatmap nodes={nodes} />}</Loaded>
    </>
  );
}

const keyOf = (cell: Cell) => `${cell.node.name}/${cell.resource}/${cell.card.index}`;

function Heatmap({ nodes }: { nodes: NodeView[] }) {
  const { t } = useTranslation();
  const now = useNow();
  const { namespace } = useMe();
  const [chosenMetric, setMetric] = useState<Metric>("utilisation");
  const [view, setView] = useState("now");
  // Of the past only the use is kept.
  const metric = view === "day" ? "utilisation" : chosenMetric;
  const [filter, setFilter] = useState(everything);
  const [chosen, setChosen] = useState<string>();
  const history = useQuery(historyQuery).data;
  const all = useMemo(() => rowsOf(nodes, { metric, now, namespace }), [nodes, metric, now, namespace]);
  const rows = useMemo(() => filterRows(all, filter), [all, filter]);
  const cell = rows.flatMap((row) => row.cells).find((one) => keyOf(one) === chosen);
  const pools = [...new Set(nodes.flatMap((node) => node.pool ?? []))].sort();
  const models = [...new Set(nodes.flatMap((node) => node.model ?? []))].sort();
  const kinds = [...new Set(nodes.flatMap((node) => node.cards.map((kind) => kind.resource)))].sort();
  if (all.length === 0) {
    return (
      <Empty icon={IconLayoutGrid} title={t("heatmap.none")}>
        {t("heatmap.noneText")}
      </Empty>
    );
  }
  return (
    <Stack gap="lg">
      <div className={classes.filters}>
        <SegmentedControl
          aria-label={t("heatmap.metric")}
          value={metric}
          onChange={(value) => setMetric(value as Metric)}
          disabled={view === "day"}
          data={(["utilisation", "memory", "temperature"] as const).map((value) => ({
            value,
            label: t(`heatmap.${value}`),
          }))}
        />
        <SegmentedControl
          aria-label={t("heatmap.view")}
          value={view}
          onChange={setView}
          data={[
            { value: "now", label: t("heatmap.now") },
            { value: "day", label: t("heatmap.day"), disabled: !history },
          ]}
        />
        <TextInput
          aria-label={t("heatmap.search")}
          placeholder={t("heatmap.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          className={classes.search}
          value={filter.name}
          onChange={(event) => setFilter({ ...filter, name: event.currentTarget.value })}
        />
        <NativeSelect
          aria-label={t("heatmap.show")}
          value={filter.only}
          onChange={(event) => setFilter({ ...filter, only: event.currentTarget.value as Filter["only"] })}
          data={(["all", "free", "soon", "mine"] as const).map((value) => ({
            value,
            label: t(`heatmap.only.${value}`),
          }))}
        />
        <NativeSelect
          aria-label={t("fields.pool")}
          value={filter.pool}
          onChange={(event) => setFilter({ ...filter, pool: event.currentTarget.value })}
          data={[
            { value: "", label: t("heatmap.allPools") },
            ...pools.map((value) => ({ value, label: value })),
          ]}
        />
        <NativeSelect
          aria-label={t("forms.cardKind")}
          value={filter.resource}
          onChange={(event) => setFilter({ ...filter, resource: event.currentTarget.value })}
          data={[
            { value: "", label: t("heatmap.allKinds") },
            ...kinds.map((value) => ({ value, label: cardTitle(value) })),
          ]}
        />
        {models.length > 1 && (
          <NativeSelect
            aria-label={t("heatmap.model")}
            value={filter.model}
            onChange={(event) => setFilter({ ...filter, model: event.currentTarget.value })}
            data={[
              { value: "", label: t("heatmap.allModels") },
              ...models.map((value) => ({ value, label: modelTitle(value) ?? value })),
            ]}
          />
        )}
      </div>
      {rows.length === 0 ? (
        <Empty
          icon={IconFilterOff}
          title={t("heatmap.noHit")}
          action={
            <Button variant="default" onClick={() => setFilter(everything)}>
              {t("heatmap.showAll")}
            </Button>
          }
        />
      ) : (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, lg: 8 }}>
            <Panel>
              <Legend rows={rows} metric={metric} />
              <CardGrid
                rows={rows}
                history={view === "day" ? history : undefined}
                chosen={chosen}
                keyOf={keyOf}
                onChoose={(one) => setChosen(keyOf(one))}
              />
            </Panel>
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 4 }}>
            <Beside chosen={chosen}>
              {cell ? (
                <CardDetails cell={cell} history={history} />
              ) : (
                <Text c="dimmed" size="sm">
                  {t("heatmap.choose")}
                </Text>
              )}
            </Beside>
          </Grid.Col>
        </Grid>
      )}
    </Stack>
  );
}

/** What is known of the card that was chosen. Where it stands below the map, whoever chooses a card is led to it. */
function Beside({ chosen, children }: { chosen: string | undefined; children: ReactNode }) {
  const { t } = useTranslation();
  const here = useRef<HTMLElement>(null);
  useEffect(() => {
    if (chosen) here.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <section ref={here} aria-label={t("heatmap.details")} aria-live="polite" className={classes.beside}>
      <Panel title={t("heatmap.details")}>{children}</Panel>
    </section>
  );
}
