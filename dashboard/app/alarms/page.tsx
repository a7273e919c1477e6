import type { Metadata } from "next";
import { Suspense } from "react";
import { AlarmsPage } from "@/features/alarms/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Alarms" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <AlarmsPage />
    </Suspense>
  );
}
