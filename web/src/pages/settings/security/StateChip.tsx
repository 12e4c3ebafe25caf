import type { Procedure } from "../../../api/signing";
import { Chip } from "../../../components/Words";
import { cx } from "../../../lib/cx";
import { PROCEDURE_STATES } from "../../../lib/signing";

export function StateChip({ state }: { state: Procedure["state"] }) {
  return (
    <Chip
      className={cx(
        "md:w-28 md:justify-center",
        state === "active" && "border-safe/50 text-safe",
        (state === "revoked" || state === "untrusted") && "border-dangerous/50 text-danger-text",
      )}
    >
      {PROCEDURE_STATES[state]}
    </Chip>
  );
}
