import { Link } from "@tanstack/react-router";
import { ShieldQuestion } from "lucide-react";
import { Page } from "../../components/Page";
import { Empty } from "../../components/States";
import { ClassWord } from "../../components/Words";

export function ApprovalsPage() {
  return (
    <Page title="Approvals">
      <Empty
        icon={ShieldQuestion}
        title="Nothing waits for a decision"
        action={
          <Link
            to="/skills"
            search={{ class: "mutating" }}
            className="text-13 text-accent-text underline underline-offset-2"
          >
            See the skills that will need one
          </Link>
        }
      >
        <p>
          Calls that change something will wait here until a person allows or denies them: the whole arguments, the
          exact host, who asked and how long there is to decide.
        </p>
        <ul className="mx-auto mt-4 flex w-max max-w-full flex-col gap-2 text-left">
          <li className="flex items-center gap-3">
            <span className="flex w-24 shrink-0">
              <ClassWord value="safe" />
            </span>
            runs without asking
          </li>
          <li className="flex items-center gap-3">
            <span className="flex w-24 shrink-0">
              <ClassWord value="mutating" />
            </span>
            needs one approval
          </li>
          <li className="flex items-center gap-3">
            <span className="flex w-24 shrink-0">
              <ClassWord value="dangerous" />
            </span>
            needs a signed procedure and two people
          </li>
        </ul>
        <p className="mt-4">Until approvals are available, such calls are refused and the audit keeps the reason.</p>
      </Empty>
    </Page>
  );
}
