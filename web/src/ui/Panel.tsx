import { Box, type BoxProps, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./ui.module.css";

interface Props extends BoxProps {
  title?: string;
  beside?: ReactNode;
  children?: ReactNode;
}

/** A quiet frame around things that belong together. */
export function Panel({ title, beside, children, p = "lg", ...more }: Props) {
  return (
    <Box className={classes.panel} p={p} {...more}>
      {(title || beside) && (
        <Group justify="space-between" mb="md" px={p === 0 ? "lg" : 0} pt={p === 0 ? "lg" : 0}>
          {title && (
            <Title order={2} size="h5" fw={600}>
              {title}
            </Title>
          )}
          {beside}
        </Group>
      )}
      {children}
    </Box>
  );
}
