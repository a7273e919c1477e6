"use client";

import * as Menu from "@radix-ui/react-dropdown-menu";
import { asOptions, optionsOf, withoutHidden } from "@/features/jobs/enqueue-options";
import { base } from "@/lib/base-path";
import type { Job } from "@/lib/documents";
import { useMachines } from "@/lib/machines";
import { asCurl, asPython } from "@/lib/snippets";
import { Icon } from "@/ui/icon";
import { useToast } from "@/ui/toast";

/** The request that would enqueue this job, for a shell or for Python. */
export function CopyMenu({ job }: { job: Job }) {
  const say = useToast();
  const machine = useMachines().data?.machines.find((each) => each.name === job.action);
  const request = {
    action: job.action,
    input: withoutHidden(job.input, machine),
    options: asOptions(optionsOf(job, machine)),
  };
  const copy = (name: string, write: typeof asCurl) => async () => {
    await navigator.clipboard.writeText(write(window.location.origin + base(), request));
    say(`Copied as ${name}. It reads the key from KAIROS_KEY.`);
  };
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="button">
        <Icon name="copy" size={14} />
        Copy as
        <Icon name="down" size={14} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="end" sideOffset={4}>
          <Menu.Item className="menu-item" onSelect={copy("curl", asCurl)}>
            Copy as curl
          </Menu.Item>
          <Menu.Item className="menu-item" onSelect={copy("Python", asPython)}>
            Copy as Python
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
