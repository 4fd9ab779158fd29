import { Group, Stack, Text } from "@mantine/core";
import { formatAmount, parseQuantity, percentOf } from "./format";
import classes from "./ui.module.css";

interface Props {
  label: string;
  used: number;
  total: number;
  /** A part of what is used, shown with a pattern. */
  shared?: number;
  text: string;
}

/** How much of something is taken. The numbers stand beside it: the bar is for a quick look. */
export function Meter({ label, used, total, shared = 0, text }: Props) {
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={500} truncate>
          {label}
        </Text>
        <Text size="sm" c="dimmed" className="numbers" flex="none">
          {text}
        </Text>
      </Group>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw a meter as they like, and cannot show two parts of it */}
      <div
        className={classes.meter}
        role="meter"
        aria-label={label}
        aria-valuenow={used}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuetext={text}
      >
        <div className={classes.meterPart} style={{ width: `${percentOf(used - shared, total)}%` }} />
        {shared > 0 && (
          <div
            className={classes.meterPart}
            data-tone="shared"
            style={{ width: `${percentOf(shared, total)}%` }}
          />
        )}
      </div>
    </Stack>
  );
}

/** The same for an amount of a resource as Kubernetes writes it. */
export function ResourceMeter(props: { resource: string; label: string; used?: string; total?: string }) {
  const { resource, label, used, total } = props;
  return (
    <Meter
      label={label}
      used={parseQuantity(used) ?? 0}
      total={parseQuantity(total) ?? 0}
      text={`${formatAmount(resource, used)} / ${formatAmount(resource, total)}`}
    />
  );
}
