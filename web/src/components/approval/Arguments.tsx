/** What exactly would run: never shortened, and nothing in it invisible. */
import { Fragment, type ReactNode } from "react";
import type { ClassReason } from "../../api/approvals";
import type { Json, JsonObject } from "../../api/types";
import { piecesOf } from "../../lib/approval";
import { isHiddenCharacter, nameOfCharacter } from "../../lib/hidden";
import { isObject } from "../result/shape";
import { HiddenMark } from "../Shown";

const block =
  "max-h-96 overflow-auto rounded-control border border-line bg-bg px-3 py-2 font-mono text-13 whitespace-pre-wrap break-words";

interface ArgumentsProps {
  tool: string;
  args: Json;
  reasons: readonly ClassReason[];
}

export function Arguments({ tool, args, reasons }: ArgumentsProps) {
  const command = tool === "bash" && isObject(args) && typeof args.command === "string" ? args.command : null;
  if (command === null) return <JsonText value={args} />;
  const { command: _command, ...rest } = args as JsonObject;
  return (
    <div className="flex flex-col gap-2">
      <Command command={command} reasons={reasons} />
      {Object.keys(rest).length > 0 && <JsonText value={rest} />}
    </div>
  );
}

function Command({ command, reasons }: { command: string; reasons: readonly ClassReason[] }) {
  return (
    <pre className={block} tabIndex={0} role="group" aria-label="The command" data-command>
      {piecesOf(command, reasons).map((piece, index) =>
        piece.hidden ? (
          <HiddenMark key={index}>{piece.text}</HiddenMark>
        ) : piece.reasons.length > 0 ? (
          <span
            key={index}
            data-marked
            title={piece.reasons.map((each) => reasons[each]?.text).join("\n")}
            className="underline decoration-mutating decoration-2 underline-offset-4"
          >
            {piece.text}
          </span>
        ) : (
          <Fragment key={index}>{piece.text}</Fragment>
        ),
      )}
    </pre>
  );
}

/** JSON as it is sent, coloured. */
function JsonText({ value }: { value: Json }) {
  if (isObject(value) && Object.keys(value).length === 0) return <p className="text-13 text-muted">No arguments.</p>;
  return (
    <pre className={block} tabIndex={0} role="group" aria-label="The arguments" data-arguments>
      <Value value={value} indent="" />
    </pre>
  );
}

const ONE_LINE = 40;

function Value({ value, indent }: { value: Json; indent: string }) {
  if (value === null || typeof value !== "object") return <Scalar value={value} />;
  const entries: [string | null, Json][] = Array.isArray(value)
    ? value.map((each) => [null, each])
    : Object.entries(value);
  const [left, right] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <span className="text-muted">{left + right}</span>;
  // What is short and flat reads better in one line.
  const flat = entries.every(([, each]) => each === null || typeof each !== "object");
  const line = flat && JSON.stringify(value).length <= ONE_LINE;
  const inner = `${indent}  `;
  return (
    <>
      <span className="text-muted">{left}</span>
      {entries.map(([key, each], index) => (
        <Fragment key={index}>
          {line ? " " : `\n${inner}`}
          {key !== null && (
            <>
              <Text text={key} className="text-text" />
              <span className="text-muted">: </span>
            </>
          )}
          <Value value={each} indent={inner} />
          {index < entries.length - 1 && <span className="text-muted">,</span>}
        </Fragment>
      ))}
      {line ? " " : `\n${indent}`}
      <span className="text-muted">{right}</span>
    </>
  );
}

function Scalar({ value }: { value: null | boolean | number | string }) {
  if (typeof value === "string") return <Text text={value} className="text-safe" />;
  return <span className={typeof value === "number" ? "text-accent-text" : "text-mutating"}>{String(value)}</span>;
}

/** A string with its quotes, in which what wouldn't show is named. */
function Text({ text, className }: { text: string; className: string }) {
  const parts = [...JSON.stringify(text)];
  const shown: ReactNode[] = [];
  let plain = "";
  for (const [index, part] of parts.entries()) {
    if (!isHiddenCharacter(part)) {
      plain += part;
      continue;
    }
    shown.push(plain, <HiddenMark key={index}>{nameOfCharacter(part)}</HiddenMark>);
    plain = "";
  }
  return <span className={className}>{[...shown, plain]}</span>;
}
