// Short messages at the corner of the page: that something was done, or why not.
import { CloseButton, Text } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import classes from "./toast.module.css";

interface Toast {
  id: number;
  title?: string;
  text: string;
  bad: boolean;
}

let toasts: readonly Toast[] = [];
let count = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number) => set(toasts.filter((one) => one.id !== id));

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Shows a message for some seconds; what went wrong stays longer, because it has to be read. */
export function toast(text: string, { bad = false, title }: { bad?: boolean; title?: string } = {}) {
  count += 1;
  const id = count;
  set([...toasts.slice(-3), { id, text, title, bad }]);
  setTimeout(() => dismiss(id), bad ? 12_000 : 4000);
}

export function Toasts() {
  const { t } = useTranslation();
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={classes.corner} aria-live="polite">
      {shown.map((one) => (
        <div
          key={one.id}
          className={classes.toast}
          data-bad={one.bad || undefined}
          role={one.bad ? "alert" : "status"}
        >
          <div>
            {one.title && (
              <Text fw={600} size="sm">
                {one.title}
              </Text>
            )}
            <Text size="sm">{one.text}</Text>
          </div>
          <CloseButton aria-label={t("actions.close")} onClick={() => dismiss(one.id)} />
        </div>
      ))}
    </div>
  );
}
