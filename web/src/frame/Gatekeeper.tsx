/** Decides between signing in, changing the first password, and the console. */
import { useQuery } from "@tanstack/react-query";
import { setCsrfToken } from "../api/client";
import { meQuery } from "../api/queries";
import { Failed } from "../components/States";
import { ChangePasswordPage } from "../pages/signin/ChangePasswordPage";
import { SignInPage } from "../pages/signin/SignInPage";
import { Shell } from "./Shell";
import { MeContext } from "./session";

export function Gatekeeper() {
  const me = useQuery(meQuery);
  if (me.error) return <Failed what="The manager did not answer." error={me.error} onRetry={() => void me.refetch()} />;
  if (me.data === undefined) return <div role="status" aria-label="Loading" className="h-dvh" />;
  if (me.data === null) return <SignInPage />;
  setCsrfToken(me.data.csrf_token);
  return (
    <MeContext.Provider value={me.data}>
      {me.data.user.must_change_password ? <ChangePasswordPage forced /> : <Shell />}
    </MeContext.Provider>
  );
}
