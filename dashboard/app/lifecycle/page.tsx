import type { Metadata } from "next";
import { Suspense } from "react";
import { LifecyclePage } from "@/features/lifecycle/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Lifecycle" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <LifecyclePage />
    </Suspense>
  );
}
