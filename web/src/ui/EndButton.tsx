import { Button, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { QueryKey } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "./Confirm";
import { useAction } from "./useAction";

interface Props {
  label: string;
  title: string;
  /** What happens then. */
  children: ReactNode;
  run: () => Promise<unknown>;
  done: string;
  changes: QueryKey[];
  /** How the button looks; as one in a row of a list if it is not said. */
  look?: ButtonProps;
}

const inRow = { size: "xs", variant: "subtle" } as const;

/** Ends something, after asking. */
export function EndButton({ label, title, children, run, done, changes, look = inRow }: Props) {
  const [asking, question] = useDisclosure();
  const end = useAction({ run, done, changes, onDone: question.close });
  return (
    <>
      <Button color="red" onClick={question.open} {...look}>
        {label}
      </Button>
      <Confirm
        opened={asking}
        onClose={question.close}
        onConfirm={() => end.mutate()}
        busy={end.isPending}
        danger
        title={title}
        confirm={label}
      >
        {children}
      </Confirm>
    </>
  );
}
