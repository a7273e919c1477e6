"use client";

import { go } from "@/lib/address";
import { useBase } from "@/lib/base-path";

/** A link to a page of the dashboard; with a modifier key the browser opens it as it opens any other. */
export function Link({ href, onClick, ...rest }: Omit<React.ComponentProps<"a">, "href"> & { href: string }) {
  const prefix = useBase();
  return (
    <a
      {...rest}
      href={prefix + href}
      onClick={(event) => {
        onClick?.(event);
        const elsewhere =
          event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
        if (event.defaultPrevented || elsewhere) return;
        event.preventDefault();
        go(href);
      }}
    />
  );
}
