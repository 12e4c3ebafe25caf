/** A document and the signature beside it, chosen from the disk of whoever sits there. */
import { type ChangeEvent, useState } from "react";
import type { SignedDocument } from "../api/signing";
import { toBase64 } from "../lib/bytes";
import { cx } from "../lib/cx";
import { Field, inputLook } from "./Field";

/** As much as the manager takes (a list or a procedure is some KiB). */
const MAX_BYTES = 1024 * 1024;

interface SignedFilesProps {
  label: string;
  /** Both files once they are there. */
  onChange: (files: SignedDocument | null) => void;
}

type Part = keyof SignedDocument;

export function SignedFiles({ label, onChange }: SignedFilesProps) {
  const [files, setFiles] = useState<Partial<SignedDocument>>({});
  const [problems, setProblems] = useState<Partial<SignedDocument>>({});
  const take = async (part: Part, event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    const problem = !file ? undefined : file.size > MAX_BYTES ? "It is longer than 1 MiB" : undefined;
    const text = file && !problem ? toBase64(await file.arrayBuffer()) : undefined;
    setProblems((before) => ({ ...before, [part]: problem }));
    const next = { ...files, [part]: text };
    setFiles(next);
    onChange(next.document && next.signature ? { document: next.document, signature: next.signature } : null);
  };
  return (
    <div className="flex flex-col gap-3">
      <FileField
        label={label}
        hint="The file that was signed, as it is."
        part="document"
        problems={problems}
        onTake={take}
      />
      <FileField
        label="Its signature"
        hint="The .sig file beside it."
        part="signature"
        problems={problems}
        onTake={take}
      />
    </div>
  );
}

interface FileFieldProps {
  label: string;
  hint: string;
  part: Part;
  problems: Partial<SignedDocument>;
  onTake: (part: Part, event: ChangeEvent<HTMLInputElement>) => Promise<void>;
}

function FileField({ label, hint, part, problems, onTake }: FileFieldProps) {
  return (
    <Field label={label} hint={hint} error={problems[part]}>
      {(field) => (
        <input
          {...field}
          type="file"
          onChange={(event) => void onTake(part, event)}
          className={cx(
            inputLook,
            "w-full py-1 file:mr-3 file:rounded-[4px] file:border-0 file:bg-raised file:px-2 file:text-12 file:text-text max-md:h-11 max-md:py-2.5",
          )}
        />
      )}
    </Field>
  );
}
