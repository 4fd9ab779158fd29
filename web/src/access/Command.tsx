import { Code, Group, Text } from "@mantine/core";
import { CopyText } from "../ui/TextView";

/** A command to type somewhere else, with what it does. */
export function Command({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed" mb={4}>
        {title}
      </Text>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Code block flex={1} miw={0}>
          {text}
        </Code>
        <CopyText text={text} />
      </Group>
    </div>
  );
}
