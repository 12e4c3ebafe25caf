import { useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Card, Page } from "../../components/Page";
import { useMe } from "../../frame/session";
import { may } from "../../lib/may";
import { ChangePasswordForm } from "../signin/ChangePasswordPage";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

export function AccountsPage() {
  const me = useMe();
  const [changing, setChanging] = useState(false);
  return (
    <Page title="Accounts and tokens">
      <div className="flex max-w-4xl flex-col gap-4 px-4 pb-6 md:px-6">
        <Card title="You">
          <div className="flex flex-wrap items-center justify-between gap-3 p-4 text-13">
            <p>
              <span className="font-medium">{me.user.display_name || me.user.name}</span>{" "}
              <span className="text-muted">{me.user.roles.join(", ")}</span>
            </p>
            <Button onClick={() => setChanging(true)}>Change your password</Button>
          </div>
        </Card>
        {may.administer(me) === null && <Users />}
        <Tokens />
      </div>
      <Dialog open={changing} onClose={() => setChanging(false)} title="Change your password">
        <ChangePasswordForm onDone={() => setChanging(false)} />
      </Dialog>
    </Page>
  );
}
