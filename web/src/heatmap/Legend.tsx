import { Group, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import classes from "./heatmap.module.css";
import { countStates, type Metric, type Row } from "./model";
import { strip } from "./palette";

const ramp = strip(
  Array.from({ length: 50 }, (_, index) => index * 2),
  "transparent",
);

/** What colours and patterns mean, with how many cards are of each sort. */
export function Legend({ rows, metric }: { rows: Row[]; metric: Metric }) {
  const { t } = useTranslation();
  const counts = countStates(rows);
  // What is not known is a matter of few clusters.
  const states = (["free", "exclusive", "shared", "closed", "unsure"] as const).filter(
    (state) => state !== "unsure" || counts.unsure > 0,
  );
  const ends = metric === "temperature" ? ["25°", "90°"] : ["0%", "100%"];
  return (
    <div className={classes.legend}>
      <Group gap={8}>
        <Text size="xs">{ends[0]}</Text>
        <div
          className={classes.ramp}
          style={{ background: ramp }}
          role="img"
          aria-label={t(`heatmap.${metric}`)}
        />
        <Text size="xs">{ends[1]}</Text>
      </Group>
      {states.map((state) => (
        <Group key={state} gap={8}>
          <span className={`${classes.cell} ${classes.sample}`} data-state={state} aria-hidden />
          <Text size="xs" className="numbers">
            {state === "unsure"
              ? t("heatmap.heldUnknown", { count: counts.unsure })
              : `${t(`heatmap.states.${state}`)} · ${counts[state]}`}
          </Text>
        </Group>
      ))}
      <Group gap={8}>
        <span className={`${classes.cell} ${classes.sample}`} data-soon aria-hidden />
        <Text size="xs">{t("heatmap.freeSoon")}</Text>
      </Group>
      <Group gap={8}>
        <span className={`${classes.cell} ${classes.sample}`} data-mine aria-hidden />
        <Text size="xs">{t("heatmap.mine")}</Text>
      </Group>
    </div>
  );
}
