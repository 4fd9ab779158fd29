import { SimpleGrid } from "@mantine/core";
import type { ReactNode } from "react";

/** Fields beside each other, and below each other where the page is as narrow as a telephone. */
export function Beside({ columns = 2, children }: { columns?: number; children: ReactNode }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: columns }} spacing="md" verticalSpacing="md">
      {children}
    </SimpleGrid>
  );
}
