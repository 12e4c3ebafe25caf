/** What dangerous calls need: procedures, the list of approvers, and what each host pins. */
import { Page } from "../../../components/Page";
import { ApproverList } from "./ApproverList";
import { HostsPinned } from "./HostsPinned";
import { Procedures } from "./Procedures";

export function SecurityPage() {
  return (
    <Page title="Security">
      <div className="flex max-w-4xl flex-col gap-4 px-4 pb-6 md:px-6">
        <p className="max-w-2xl text-13 text-muted">
          A dangerous call runs only if a signed procedure covers it and two people, neither of them who asked, sign
          this very call. Each host checks both again with the keys in its own configuration, whatever this manager
          says.
        </p>
        <Procedures />
        <ApproverList />
        <HostsPinned />
      </div>
    </Page>
  );
}
