import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "../lib/cx";

export const inputLook =
  "h-8 rounded-control border border-line bg-bg px-2 text-13 outline-offset-0 transition-colors hover:border-muted/50 aria-invalid:border-dangerous disabled:opacity-60";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  required?: boolean;
  children: (properties: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean | undefined;
    required?: boolean;
  }) => ReactNode;
}

export function Field({ label, hint, error, required, children }: FieldProps) {
  const id = useId();
  const notes = `${id}-notes`;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-13 font-medium">
        {label}
        {required && <span className="text-muted"> (required)</span>}
      </label>
      {children({
        id,
        "aria-describedby": hint || error ? notes : undefined,
        "aria-invalid": error ? true : undefined,
        required,
      })}
      {(hint || error) && (
        <p id={notes} className="text-12 text-muted">
          {error && (
            <span role="alert" className="text-danger-text">
              {error}
              {hint ? " " : ""}
            </span>
          )}
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextInput({ className, ...rest }: ComponentProps<"input">) {
  return (
    <input type="text" autoComplete="off" spellCheck={false} {...rest} className={cx(inputLook, "w-full", className)} />
  );
}

export function Select({ fit, className, ...rest }: ComponentProps<"select"> & { fit?: boolean }) {
  return <select {...rest} className={cx(inputLook, "pr-1", !fit && "w-full", className)} />;
}

export function CheckBox({
  label,
  hint,
  ...rest
}: Omit<ComponentProps<"input">, "type"> & { label: ReactNode; hint?: ReactNode }) {
  return (
    <label className="flex items-start gap-2 text-13">
      <input type="checkbox" {...rest} className="mt-0.5 size-4 shrink-0 accent-accent" />
      <span>
        {label}
        {hint && <span className="block text-12 text-muted">{hint}</span>}
      </span>
    </label>
  );
}
