import type { Metadata } from "next";
import { Suspense } from "react";
import { SettingsPage } from "@/features/settings/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Settings" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <SettingsPage />
    </Suspense>
  );
}
