"use client";

import { useAddress } from "@/lib/address";
import { useMay, useSession } from "@/lib/session";
import { Empty, Loading } from "@/ui/answer";
import { PageTitle } from "@/ui/panel";
import { Audit } from "./audit";
import { Keys } from "./keys";
import { Webhooks } from "./webhooks";

const TABS = { keys: ["Keys", Keys], webhooks: ["Webhooks", Webhooks], audit: ["Audit", Audit] } as const;
type Tab = keyof typeof TABS;

export function SettingsPage() {
  const { params, change } = useAddress();
  const session = useSession();
  const may = useMay("admin");
  const wanted = params.get("tab") as Tab;
  const tab: Tab = wanted in TABS ? wanted : "keys";
  const Body = TABS[tab][1];
  return (
    <>
      <PageTitle title="Settings" />
      <div role="tablist" aria-label="Settings" className="mb-6 flex gap-6 border-b">
        {(Object.keys(TABS) as Tab[]).map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`tab-${each}`}
            aria-selected={each === tab}
            aria-controls="settings"
            onClick={() => change({ tab: each === "keys" ? null : each })}
            className={`-mb-px border-b-2 pb-2 text-14 ${each === tab ? "border-ink font-medium" : "border-transparent text-muted hover:text-ink"}`}
          >
            {TABS[each][0]}
          </button>
        ))}
      </div>
      <div id="settings" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {!session ? (
          <Loading />
        ) : may ? (
          <Body />
        ) : (
          <Empty title="Your key may not see the settings.">
            Settings need a key with the scope <code>admin</code>.
          </Empty>
        )}
      </div>
    </>
  );
}
