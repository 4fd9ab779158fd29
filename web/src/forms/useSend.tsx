// Sending a form. What the portal finds wrong stands at the field that it is about, everything else above the form; what
// was typed stays, whatever happens.
import { Alert } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { IconAlertCircle } from "@tabler/icons-react";
import type { QueryKey } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { asApiError } from "../api/error";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";

interface Options<Values, Output> {
  run: (values: Values) => Promise<Output>;
  done?: string;
  changes?: QueryKey[];
  onDone?: (output: Output, values: Values) => void;
  /** The field of the form that a field of the request is about, where the two have different names. */
  fieldOf?: (field: string) => string | undefined;
}

export interface Sending {
  onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  busy: boolean;
  /** What is wrong and belongs to no field. */
  problem: ReactNode;
}

export function useSend<Values extends object, Output>(
  form: UseFormReturnType<Values>,
  { fieldOf, ...options }: Options<Values, Output>,
): Sending {
  const said = useErrorText();
  const action = useAction<Values, Output>({ quiet: true, ...options });
  const place = (error: unknown) => {
    const { field } = asApiError(error);
    if (!field) return undefined;
    if (fieldOf) return fieldOf(field);
    const path = field.replace(/^spec\./, "");
    // What is wrong with a part of a field stands at the whole of it.
    return [path, path.split(/[.[]/)[0] ?? ""].find((one) => one in form.values);
  };
  const send = form.onSubmit((values) =>
    action.mutate(values, {
      onError: (error) => {
        const field = place(error);
        if (field) form.setFieldError(field, said(error));
      },
    }),
  );
  return {
    onSubmit: (event) => {
      // React lets it rise to a form that this one is shown from, which must not be sent by it.
      event.stopPropagation();
      send(event);
    },
    busy: action.isPending,
    problem: action.error && !place(action.error) && <Problem error={action.error} />,
  };
}

/** What the portal said of a form as a whole, or of something in it that has no field. */
function Problem({ error }: { error: unknown }) {
  const said = useErrorText();
  const { field } = asApiError(error);
  return (
    <Alert color="red" icon={<IconAlertCircle size={18} />} role="alert">
      {field && <strong>{field}: </strong>}
      {said(error)}
    </Alert>
  );
}
