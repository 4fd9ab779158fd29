import { Anchor, Box, Breadcrumbs, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";

interface Props {
  title: string;
  text?: ReactNode;
  /** The page above this one. */
  above?: { title: string; to: string };
  beside?: ReactNode;
  actions?: ReactNode;
}

/** The head of every page; it also names the tab of the browser. */
export function PageHeader({ title, text, above, beside, actions }: Props) {
  useEffect(() => {
    document.title = `${title} · Maar`;
  }, [title]);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Stack gap={4}>
        {above && (
          <Breadcrumbs mb={2}>
            <Anchor component={Link} to={above.to} size="sm">
              {above.title}
            </Anchor>
            <Text size="sm" c="dimmed">
              {title}
            </Text>
          </Breadcrumbs>
        )}
        <Group gap="md">
          <Title order={1} size="h2" fw={650}>
            {title}
          </Title>
          {beside}
        </Group>
        {text && (
          <Box c="dimmed" maw={680} style={{ textWrap: "pretty" }}>
            {text}
          </Box>
        )}
      </Stack>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
