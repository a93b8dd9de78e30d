import { onScopeDispose, ref } from "vue";

/** The time, renewed twice a minute. */
export function useNow() {
  const now = ref(Date.now());
  const timer = window.setInterval(() => (now.value = Date.now()), 30_000);
  onScopeDispose(() => window.clearInterval(timer));
  return now;
}
