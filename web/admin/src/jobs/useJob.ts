import { onScopeDispose, shallowRef } from "vue";
import { api, call, fetchFile } from "@/api/client";
import { asApiError, type ApiError } from "@/api/error";
import type { components } from "@/api/schema";

export type Job = components["schemas"]["AdminJob"];
export type JobRow = components["schemas"]["AdminJobRow"];

export const isOpen = (job: Pick<Job, "status">): boolean => job.status === "waiting" || job.status === "running";

export const isExport = (job: Job): boolean => job.kind === "product_export" || job.kind === "order_export";

const every = 1000;

/** Follows a job until it has ended. */
export function useJob(id: number, ended: (job: Job) => void = () => {}) {
  const job = shallowRef<Job>();
  const error = shallowRef<ApiError>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let gone = false;

  async function look(): Promise<void> {
    clearTimeout(timer);
    try {
      const got = await call(api.GET("/api/admin/v1/jobs/{id}", { params: { path: { id } } }));
      const before = job.value;
      job.value = got;
      error.value = undefined;
      if (!isOpen(got) && (!before || isOpen(before))) ended(got);
    } catch (thrown) {
      error.value = asApiError(thrown);
    }
    if (!gone && (!job.value || isOpen(job.value))) timer = setTimeout(() => void look(), every);
  }

  onScopeDispose(() => {
    gone = true;
    clearTimeout(timer);
  });
  void look();
  return { job, error, look };
}

/** Saves a job's result as a file. */
export async function download(job: Job): Promise<void> {
  const url = URL.createObjectURL(await fetchFile(`/api/admin/v1/jobs/${job.id}/result`));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${job.kind}-${job.id}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}
