import { ActionIcon, Button, Group, Input, Stack, Text } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface Props<Row> {
  title: string;
  text?: string;
  add: string;
  rows: Row[];
  /** What is wrong with the list as a whole. */
  error?: ReactNode;
  make: () => Row;
  onChange: (rows: Row[]) => void;
  children: (row: Row, index: number, change: (part: Partial<Row>) => void) => ReactNode;
}

/** Rows of fields that can be added and taken away. */
export function ListInput<Row>({ title, text, add, rows, error, make, onChange, children }: Props<Row>) {
  const { t } = useTranslation();
  const change = (index: number, part: Partial<Row>) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...part } : row)));
  return (
    <Stack gap="xs" role="group" aria-label={title}>
      <div>
        <Text size="sm" fw={500}>
          {title}
        </Text>
        {text && (
          <Text size="xs" c="dimmed">
            {text}
          </Text>
        )}
      </div>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no name of their own yet
        <Group key={index} align="flex-start" wrap="nowrap" gap="xs">
          <Group align="flex-start" grow flex={1} gap="xs">
            {children(row, index, (part) => change(index, part))}
          </Group>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t("forms.removeRow", { number: index + 1, title })}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            <IconX size={16} />
          </ActionIcon>
        </Group>
      ))}
      {error && <Input.Error>{error}</Input.Error>}
      <div>
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<IconPlus size={16} />}
          onClick={() => onChange([...rows, make()])}
        >
          {add}
        </Button>
      </div>
    </Stack>
  );
}
