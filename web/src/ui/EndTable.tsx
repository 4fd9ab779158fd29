import { Table } from "@mantine/core";
import type { ComponentProps, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { EndButton } from "./EndButton";
import { Rows } from "./Table";
import { When } from "./When";

interface Props<Item> {
  label: string;
  items: Item[];
  /** What there is to say of each, with its head; the first is what it is known by. */
  columns: [head: string, cell: (item: Item) => ReactNode][];
  /** How one is ended. */
  end: (item: Item) => ComponentProps<typeof EndButton>;
}

/** What opens a way in and can be ended: keys, devices. Each says when it ends by itself. */
export function EndTable<Item extends { id: string; expires?: string | null }>(props: Props<Item>) {
  const { t } = useTranslation();
  const { label, items, columns, end } = props;
  return (
    <Rows label={label} heads={[...columns.map(([head]) => head), t("keys.expires"), ""]}>
      {items.map((one) => (
        <Table.Tr key={one.id}>
          {columns.map(([head, cell], index) => (
            <Table.Td key={head} fw={index === 0 ? 600 : undefined}>
              {cell(one)}
            </Table.Td>
          ))}
          <Table.Td>
            <When at={one.expires} none={t("keys.noEnd")} />
          </Table.Td>
          <Table.Td ta="right">
            <EndButton {...end(one)} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
