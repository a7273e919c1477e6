"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "@/lib/api";
import type { Alarm } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { useToast } from "@/ui/toast";

export function useAcknowledge() {
  const client = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (alarm: Alarm) => post("/api/alarms/{id}/acknowledge", { path: { id: alarm.id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.alarms }),
    onError: (error) => say(error.message, true),
  });
}
