import { workerHref } from "@/lib/address";
import { Link } from "@/ui/link";

export function WorkerLink({ id }: { id: string }) {
  return (
    <Link href={workerHref(id)} className="link break-all">
      <code className="text-12">{id}</code>
    </Link>
  );
}
