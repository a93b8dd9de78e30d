import { ElMessage, ElMessageBox } from "element-plus";
import { ref, shallowRef } from "vue";
import { asApiError, type ApiError } from "@/api/error";
import { t } from "@/i18n";

/**
 * Runs what changes something: one at a time, with its error kept for an ErrorBox beside the form. Returns whether it succeeded.
 * `stale` is called instead where somebody else was first (409 stale_version).
 */
export function useAction() {
  const busy = ref(false);
  const error = shallowRef<ApiError>();

  async function run(action: () => Promise<unknown>, options: { done?: string; stale?: () => unknown } = {}): Promise<boolean> {
    if (busy.value) return false;
    busy.value = true;
    error.value = undefined;
    try {
      await action();
      if (options.done) ElMessage.success(options.done);
      return true;
    } catch (thrown) {
      const failed = asApiError(thrown);
      if (failed.code === "stale_version" && options.stale) await fetchAnew(options.stale);
      else error.value = failed;
      return false;
    } finally {
      busy.value = false;
    }
  }

  /** What was to be read again may be gone, or out of reach: then that is what is wrong. */
  async function fetchAnew(stale: () => unknown): Promise<void> {
    try {
      await stale();
    } catch (thrown) {
      error.value = asApiError(thrown);
    }
  }

  /** The message for a field (by its path in the body), for a form item's error. */
  function fieldError(field: string): string | undefined {
    return error.value?.errors.find((e) => e.field === field || e.field === `body.${field}`)?.message;
  }

  return { busy, error, run, fieldError };
}

/** Asks before something that cannot be taken back: names the thing and the consequence; the button says the verb. */
export async function confirmed(question: { title: string; text: string; verb: string; danger?: boolean }): Promise<boolean> {
  return ElMessageBox.confirm(question.text, question.title, {
    confirmButtonText: question.verb,
    cancelButtonText: t("common.cancel"),
    confirmButtonClass: question.danger ? "el-button--danger" : "",
    closeOnClickModal: false,
    autofocus: false,
  }).then(
    () => true,
    () => false,
  );
}

/** Asks for a text (a reason, a note) before something; undefined where the person thought better of it. */
export async function asked(question: {
  title: string;
  text: string;
  verb: string;
  placeholder?: string;
  danger?: boolean;
  maxLength?: number;
}) {
  const most = question.maxLength ?? 200;
  return ElMessageBox.prompt(question.text, question.title, {
    confirmButtonText: question.verb,
    cancelButtonText: t("common.cancel"),
    confirmButtonClass: question.danger ? "el-button--danger" : "",
    closeOnClickModal: false,
    inputPlaceholder: question.placeholder,
    inputType: "textarea",
    inputValidator: (v: string) => (!v?.trim() ? t("common.required") : v.trim().length <= most || `≤ ${most}`),
  }).then(
    (r) => (r as { value: string }).value.trim(),
    () => undefined,
  );
}
