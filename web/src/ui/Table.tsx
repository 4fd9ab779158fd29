import { Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Panel } from "./Panel";
import classes from "./ui.module.css";

interface Props {
  label: string;
  heads: string[];
  children: ReactNode;
}

/** A list in rows. It scrolls sideways by itself where the page is narrow. */
export function Rows({ label, heads, children }: Props) {
  return (
    <Panel p={0}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className={classes.tableBox} tabIndex={0} aria-label={label}>
        <Table verticalSpacing="sm" horizontalSpacing="lg" highlightOnHover className="numbers">
          <Table.Thead>
            <Table.Tr>
              {heads.map((head, index) => (
                // Columns of buttons have no head.
                // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
                <Table.Th key={index}>
                  <Text size="xs" fw={600} c="dimmed" component="span">
                    {head}
                  </Text>
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </section>
    </Panel>
  );
}
