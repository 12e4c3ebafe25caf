import { useQuery } from "@tanstack/react-query";
import { aboutQuery } from "../../api/queries";
import { Card, Facts, Page } from "../../components/Page";
import { ResultView } from "../../components/result/ResultView";
import { Failed, SkeletonRows } from "../../components/States";

export function AboutPage() {
  const about = useQuery(aboutQuery);
  return (
    <Page title="About">
      <div className="flex max-w-3xl flex-col gap-4 px-4 pb-6 md:px-6">
        {about.error && (
          <Failed what="This page could not be read." error={about.error} onRetry={() => void about.refetch()} />
        )}
        {about.isPending && <SkeletonRows rows={3} />}
        {about.data && (
          <>
            <Card title="Steadyhand">
              <div className="p-4">
                <Facts
                  rows={[
                    ["Version", about.data.version],
                    ["Features", Array.isArray(about.data.features) ? about.data.features.join(", ") : null],
                    ["Licence", "Apache-2.0"],
                  ]}
                />
              </div>
            </Card>
            <Card title="Licences of what it is built from">
              <div className="p-4">
                <ResultView callId="" result={about.data.licences} />
              </div>
            </Card>
          </>
        )}
      </div>
    </Page>
  );
}
