// The editor itself. It is large: ui/CodeEditor.tsx brings it when somebody opens a page that has one.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { EditorProps } from "./CodeEditor";

const setWrong = StateEffect.define<number | undefined>();

/** The line that is wrong, until something is typed. */
const wrongLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setWrong)) continue;
      const line = effect.value;
      const exists = line !== undefined && line >= 1 && line <= transaction.state.doc.lines;
      next = exists
        ? Decoration.set([
            Decoration.line({ class: "cm-wrong" }).range(transaction.state.doc.line(line).from),
          ])
        : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Tab leads on to the next control, as everywhere: an editor must not be a trap for who has no mouse.
const behaviour = [
  lineNumbers(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  yaml(),
  syntaxHighlighting(classHighlighter),
  keymap.of([...defaultKeymap, ...historyKeymap]),
  EditorView.lineWrapping,
  wrongLine,
];

function attributesOf({ label, wrong, describedBy }: EditorProps) {
  return EditorView.contentAttributes.of({
    "aria-label": label,
    "aria-invalid": String(wrong !== undefined),
    ...(describedBy ? { "aria-describedby": describedBy } : {}),
    spellcheck: "false",
    autocapitalize: "off",
  });
}

export default function CodeMirror(props: EditorProps) {
  const { value, wrong } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const attributes = useRef(new Compartment());
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!box.current) return undefined;
    const typed = EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange(update.state.doc.toString());
    });
    const first = latest.current;
    const state = EditorState.create({
      doc: first.value,
      extensions: [behaviour, typed, attributes.current.of(attributesOf(first))],
    });
    const made = new EditorView({ state, parent: box.current });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const before = view.current?.state.doc.toString();
    if (before !== undefined && before !== value) {
      view.current?.dispatch({ changes: { from: 0, to: before.length, insert: value } });
    }
  }, [value]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const effects: StateEffect<unknown>[] = [
      setWrong.of(wrong),
      attributes.current.reconfigure(attributesOf(latest.current)),
    ];
    if (wrong !== undefined && wrong <= editor.state.doc.lines) {
      effects.push(EditorView.scrollIntoView(editor.state.doc.line(wrong).from, { y: "center" }));
    }
    editor.dispatch({ effects });
  }, [wrong]);
  return <div ref={box} />;
}
