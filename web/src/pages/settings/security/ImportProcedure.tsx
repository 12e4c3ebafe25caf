/** Importing a procedure: the files, then what changes, then yes. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { messageOf } from "../../../api/client";
import { type Procedure, type ProcedurePreview, type SignedDocument, signingApi } from "../../../api/signing";
import { Block } from "../../../components/Block";
import { Button } from "../../../components/Button";
import { Dialog } from "../../../components/Dialog";
import { SignedFiles } from "../../../components/SignedFiles";
import { Time } from "../../../components/Time";
import { DiffText } from "./DiffText";

interface ImportProcedureProps {
  open: boolean;
  onClose: () => void;
  onImported: (procedure: Procedure) => void;
}

export function ImportProcedure({ open, onClose, onImported }: ImportProcedureProps) {
  return (
    <Dialog open={open} onClose={onClose} title="Import a procedure" wide>
      <Steps onImported={onImported} />
    </Dialog>
  );
}

function Steps({ onImported }: Pick<ImportProcedureProps, "onImported">) {
  const client = useQueryClient();
  const [files, setFiles] = useState<SignedDocument | null>(null);
  const preview = useMutation({ mutationFn: (sop: SignedDocument) => signingApi.previewProcedure(sop) });
  const save = useMutation({
    mutationFn: (sop: SignedDocument) => signingApi.importProcedure(sop),
    onSuccess: async (procedure) => {
      await client.invalidateQueries({ queryKey: ["sops"] });
      onImported(procedure);
    },
  });
  const problem = preview.error ?? save.error;
  return (
    <div className="flex flex-col gap-4">
      <SignedFiles
        label="Procedure"
        onChange={(next) => {
          setFiles(next);
          preview.reset();
          save.reset();
          // Nothing is kept by looking.
          if (next) preview.mutate(next);
        }}
      />
      {problem && (
        <p role="alert" className="text-13 break-words text-danger-text">
          {messageOf(problem)}
        </p>
      )}
      {preview.data && <Preview procedure={preview.data} />}
      <Button
        look="primary"
        className="self-end max-md:h-11"
        busy={save.isPending || preview.isPending}
        disabled={!preview.data || !files}
        onClick={() => files && save.mutate(files)}
      >
        {preview.data ? `Import version ${preview.data.version}` : "Import"}
      </Button>
    </div>
  );
}

function Preview({ procedure }: { procedure: ProcedurePreview }) {
  return (
    <section aria-label="What is imported" data-sop-preview={procedure.id} className="flex flex-col gap-3 text-13">
      <p role="status">
        <span className="font-medium">{procedure.title}</span>{" "}
        <span className="text-muted">
          (<span className="font-mono text-12">{procedure.id}</span> version {procedure.version}, until{" "}
          <Time at={procedure.valid_until} />
          ), signed by the pinned key <span className="font-mono text-12">{procedure.signer}</span>.
        </span>
      </p>
      {procedure.warnings.length > 0 && (
        <ul aria-label="Look twice" className="flex flex-col gap-1 rounded-control border border-mutating/50 px-3 py-2">
          {procedure.warnings.map((warning) => (
            <li key={warning} className="flex items-start gap-2">
              <TriangleAlert aria-hidden size={14} className="mt-[3px] shrink-0 text-mutating" />
              {warning}
            </li>
          ))}
        </ul>
      )}
      {procedure.diff ? (
        <>
          <h3 className="text-12 font-medium text-muted">What changes against the last version</h3>
          <DiffText text={procedure.diff} />
        </>
      ) : (
        <>
          <h3 className="text-12 font-medium text-muted">
            {procedure.diff === "" ? "Nothing in the text changes" : "It is the first version here"}
          </h3>
          <Block text={procedure.document} label="The procedure" className="max-h-72" />
        </>
      )}
    </section>
  );
}
