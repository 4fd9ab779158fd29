import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { templateQuery } from "../api/shared";
import { cardValuesOf, suggestName } from "../forms/values";
import { TemplateHeader } from "../templates/TemplateHeader";
import { PageHeader } from "../ui/PageHeader";
import { Loaded, Loading } from "../ui/states";
import { initialValues, valuesOf, type WorkspaceValues } from "./form";
import { imagesQuery } from "./queries";
import { WorkspaceForm } from "./WorkspaceForm";

/** A new workspace, from nothing or from a template. */
export function NewWorkspacePage() {
  const { t } = useTranslation();
  const { template, volume, cards, edit } = useSearch({ from: "/inside/workspaces/new" });
  const [fresh] = useState<WorkspaceValues>(() => ({
    ...initialValues,
    name: suggestName("work", Math.random),
    cards: cards ? cardValuesOf({ resource: cards, count: 1 }) : initialValues.cards,
    mounts: volume ? [{ claim: volume, path: "/data", readOnly: false }] : [],
  }));
  const header = edit ? (
    <TemplateHeader />
  ) : (
    <PageHeader
      title={t("workspaces.new")}
      text={t("workspaces.newText")}
      above={{ title: t("nav.workspaces"), to: "/workspaces" }}
    />
  );
  return (
    <>
      {header}
      {template ? <FromTemplate id={template} fresh={fresh} edit={edit} /> : <FromNothing fresh={fresh} />}
    </>
  );
}

/** The first image that is offered here is as good as any for a first try; without a list one is typed. */
function FromNothing({ fresh }: { fresh: WorkspaceValues }) {
  const images = useQuery(imagesQuery);
  if (images.isPending) {
    return <Loading />;
  }
  return <WorkspaceForm initial={{ ...fresh, image: images.data?.items[0]?.image ?? "" }} />;
}

function FromTemplate({ id, fresh, edit }: { id: string; fresh: WorkspaceValues; edit?: boolean }) {
  return (
    <Loaded query={useQuery(templateQuery(id))}>
      {(template) => (
        <WorkspaceForm
          initial={{ ...fresh, ...valuesOf(template.body as Record<string, unknown>) }}
          from={template}
          edit={edit}
        />
      )}
    </Loaded>
  );
}
