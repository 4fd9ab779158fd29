import { Text } from "@mantine/core";
import { type KeyboardEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeHistory } from "../api/types";
import { modelTitle } from "../ui/format";
import classes from "./heatmap.module.css";
import { type Cell, dayOf, heldUnknown, move, type Place, type Row } from "./model";
import { colourOf, css, inkOn, strip } from "./palette";

interface Props {
  rows: Row[];
  history?: NodeHistory;
  chosen?: string;
  keyOf: (cell: Cell) => string;
  onChoose: (cell: Cell) => void;
}

/** Nodes as rows, cards as cells. One of them is in the tab order; arrow keys lead to the others. */
export function CardGrid({ rows, history, chosen, keyOf, onChoose }: Props) {
  const { t } = useTranslation();
  const grid = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place>({ row: 0, column: 0 });
  const at = {
    row: Math.min(place.row, rows.length - 1),
    column: Math.min(place.column, (rows[Math.min(place.row, rows.length - 1)]?.cells.length ?? 1) - 1),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = move(rows, at, event.key);
    if (!next) return;
    event.preventDefault();
    setPlace(next);
    grid.current?.querySelector<HTMLElement>(`[data-at="${next.row}/${next.column}"]`)?.focus();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table of 8000 buttons would be read as a table of texts
    <div
      ref={grid}
      role="grid"
      aria-label={t("heatmap.grid")}
      aria-rowcount={rows.length}
      className={classes.grid}
      onKeyDown={onKeyDown}
      tabIndex={-1}
    >
      {rows.map((row, index) => (
        // biome-ignore lint/a11y/useSemanticElements: see above
        // biome-ignore lint/a11y/useFocusableInteractive: its cells are
        <div key={row.node.name} role="row" className={classes.row}>
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: its cells are */}
          <div role="rowheader" className={classes.node}>
            <Text size="sm" fw={600} truncate title={row.node.name}>
              {row.node.name}
            </Text>
            <Text size="xs" c="dimmed" truncate>
              {[modelTitle(row.node.model), row.node.pool].filter(Boolean).join(" · ")}
              {!row.node.ready && ` · ${t("heatmap.notReady")}`}
              {row.node.ready && !row.node.schedulable && ` · ${t("heatmap.cordoned")}`}
              {heldUnknown(row) > 0 && ` · ${t("heatmap.heldUnknown", { count: heldUnknown(row) })}`}
            </Text>
          </div>
          <div className={classes.cells} role="presentation">
            {row.cells.map((cell, column) => (
              <OneCell
                key={keyOf(cell)}
                cell={cell}
                at={`${index}/${column}`}
                strip={dayOf(history, cell)}
                day={history !== undefined}
                inOrder={at.row === index && at.column === column}
                chosen={chosen === keyOf(cell)}
                onChoose={() => {
                  setPlace({ row: index, column });
                  onChoose(cell);
                }}
              />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

interface CellProps {
  cell: Cell;
  at: string;
  strip?: (number | null)[];
  day: boolean;
  inOrder: boolean;
  chosen: boolean;
  onChoose: () => void;
}

function OneCell({ cell, at, strip: values, day, inOrder, chosen, onChoose }: CellProps) {
  const { t } = useTranslation();
  const colour = cell.value === undefined ? undefined : colourOf(cell.value);
  const coloured = colour && (cell.state === "exclusive" || cell.state === "shared");
  const style = day
    ? { background: strip(values ?? [], "var(--gap)") }
    : coloured
      ? { background: css(colour), color: css(inkOn(colour)) }
      : undefined;
  const who = cell.card.holders.map((holder) => holder.user ?? t("cards.somebody")).join(", ");
  const label = [
    t("heatmap.card", { node: cell.node.name, index: cell.card.index }),
    t(`heatmap.states.${cell.state}`),
    who,
    cell.text,
    cell.freeSoon ? t("heatmap.freeSoon") : "",
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a cell of the grid that can be pressed
    <button
      type="button"
      role="gridcell"
      className={classes.cell}
      data-state={cell.state}
      data-soon={cell.freeSoon || undefined}
      data-mine={cell.mine || undefined}
      data-day={day || undefined}
      data-at={at}
      tabIndex={inOrder ? 0 : -1}
      aria-selected={chosen}
      aria-label={label.filter(Boolean).join(", ")}
      style={style}
      onClick={onChoose}
    >
      {!day && (cell.state === "free" ? t("heatmap.free") : cell.text || cell.card.index)}
    </button>
  );
}
