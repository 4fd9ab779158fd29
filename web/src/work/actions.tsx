// What can be done with workspaces and jobs alike: suspend, resume, delete.
import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { Confirm } from "../ui/Confirm";
import { useAction } from "../ui/useAction";
import { type Kind, listKey, type Work, workKey } from "./work";

interface Props {
  kind: Kind;
  work: Work;
}

/** What has to be read again after something was done with it. */
export const changesOf = ({ kind, work }: Props) => [listKey(kind), workKey(kind, work)];

interface SuspendProps extends Props {
  stopped: boolean;
  /** Said before it is suspended, where somebody may be at work in it. */
  warning?: string;
}

export function SuspendOrResume({ kind, work, stopped, warning }: SuspendProps) {
  const { t } = useTranslation();
  const [asking, question] = useDisclosure();
  const params = { path: { namespace: work.namespace, name: work.name } };
  const changes = changesOf({ kind, work });
  const suspend = useAction({
    run: () => client.POST(`/api/v1/${kind}/{namespace}/{name}/suspend`, { params }),
    done: t(`${kind}.suspended`),
    changes,
    onDone: question.close,
  });
  const resume = useAction({
    run: () => client.POST(`/api/v1/${kind}/{namespace}/{name}/resume`, { params }),
    done: t(`${kind}.resumed`),
    changes,
  });
  const does = stopped ? resume : suspend;
  return (
    <>
      <Button
        variant="default"
        leftSection={stopped ? <IconPlayerPlay size={18} /> : <IconPlayerPause size={18} />}
        loading={does.isPending}
        onClick={() => (warning && !stopped ? question.open() : does.mutate())}
      >
        {stopped ? t("actions.resume") : t("actions.suspend")}
      </Button>
      <Confirm
        opened={asking}
        onClose={question.close}
        onConfirm={() => suspend.mutate()}
        busy={suspend.isPending}
        title={t("workspaces.suspendTitle", { name: work.name })}
        confirm={t("actions.suspend")}
      >
        {warning}
      </Confirm>
    </>
  );
}

interface MenuProps extends Props {
  /** Other things that are done seldom. */
  children?: ReactNode;
  /** What goes with it when it is deleted. */
  lost: string[];
}

/** What is done seldom, and last of all the end of it. */
export function MoreActions({ kind, work, lost, children }: MenuProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [asking, question] = useDisclosure();
  const remove = useAction({
    run: () =>
      client.DELETE(`/api/v1/${kind}/{namespace}/{name}`, {
        params: { path: { namespace: work.namespace, name: work.name } },
      }),
    done: t(`${kind}.deleted`, { name: work.name }),
    changes: [listKey(kind)],
    onDone: () => void navigate({ to: `/${kind}` }),
  });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label={t("actions.others")}>
            <IconDots size={18} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {children}
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={question.open}>
            {t("actions.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={asking}
        onClose={question.close}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t(`${kind}.deleteTitle`, { name: work.name })}
        lost={lost}
        confirm={t("actions.delete")}
      />
    </>
  );
}
