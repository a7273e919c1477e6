import type { Metadata } from "next";
import { Suspense } from "react";
import { MachinePage } from "@/features/machines/detail";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Machine" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <MachinePage />
    </Suspense>
  );
}
