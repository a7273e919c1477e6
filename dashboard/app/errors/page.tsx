import type { Metadata } from "next";
import { Suspense } from "react";
import { ErrorsPage } from "@/features/errors/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Errors" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <ErrorsPage />
    </Suspense>
  );
}
