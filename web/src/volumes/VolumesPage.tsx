import { Button, Group, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDatabase, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { volumesQuery } from "../api/shared";
import type { VolumeView } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { formatAmount } from "../ui/format";
import { PageHeader } from "../ui/PageHeader";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { useAction } from "../ui/useAction";
import { When } from "../ui/When";
import { NewVolume } from "./NewVolume";

export function VolumesPage() {
  const { t } = useTranslation();
  const query = useQuery(volumesQuery);
  const [opened, modal] = useDisclosure();
  const create = (
    <Button leftSection={<IconPlus size={18} />} onClick={modal.open}>
      {t("volumes.new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("nav.volumes")} text={t("volumes.text")} actions={query.data && create} />
      <Loaded query={query} missing="route">
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={IconDatabase} title={t("volumes.none")} action={create}>
              {t("volumes.noneText")}
            </Empty>
          ) : (
            <List items={items} />
          )
        }
      </Loaded>
      <Dialog opened={opened} onClose={modal.close} title={t("volumes.new")}>
        <NewVolume onDone={modal.close} />
      </Dialog>
    </>
  );
}

function List({ items }: { items: VolumeView[] }) {
  const { t } = useTranslation();
  const [going, setGoing] = useState<VolumeView>();
  const remove = useAction({
    run: (name: string) => client.DELETE("/api/v1/volumes/{name}", { params: { path: { name } } }),
    done: t("volumes.deleted"),
    changes: [["volumes"]],
    onDone: () => setGoing(undefined),
  });
  return (
    <>
      <Rows
        label={t("nav.volumes")}
        heads={[
          t("fields.name"),
          t("fields.size"),
          t("volumes.class"),
          t("volumes.usedBy"),
          t("fields.created"),
          "",
        ]}
      >
        {items.map((one) => (
          <Table.Tr key={one.name}>
            <Table.Td>
              <Text size="sm" fw={600}>
                {one.name}
              </Text>
              <Text size="xs" c="dimmed">
                {one.workspace
                  ? t("volumes.goesWith", { name: one.workspace })
                  : one.shared
                    ? t("volumes.shared")
                    : ""}
              </Text>
            </Table.Td>
            <Table.Td>{formatAmount("storage", one.size)}</Table.Td>
            <Table.Td>{one.storageClass ?? "–"}</Table.Td>
            <Table.Td>{one.usedBy.join(", ") || "–"}</Table.Td>
            <Table.Td>
              <When at={one.created} />
            </Table.Td>
            <Table.Td>
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <Button
                  component={Link}
                  to="/workspaces/new"
                  search={{ volume: one.name } as never}
                  size="xs"
                  variant="light"
                >
                  {t("volumes.use")}
                </Button>
                {!one.workspace && (
                  <Button
                    size="xs"
                    variant="subtle"
                    color="red"
                    leftSection={<IconTrash size={14} />}
                    onClick={() => setGoing(one)}
                  >
                    {t("actions.delete")}
                  </Button>
                )}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
      <Confirm
        opened={going !== undefined}
        onClose={() => setGoing(undefined)}
        onConfirm={() => going && remove.mutate(going.name)}
        busy={remove.isPending}
        danger
        title={t("volumes.deleteTitle", { name: going?.name ?? "" })}
        lost={[t("volumes.lost", { size: formatAmount("storage", going?.size) })]}
        confirm={t("actions.delete")}
      />
    </>
  );
}
