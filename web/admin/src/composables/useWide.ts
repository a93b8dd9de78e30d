import { onScopeDispose, ref } from "vue";

/** Whether the window is wide enough for the menu and for columns that stand still; the same width as in the style sheets. */
export function useWide() {
  const media = window.matchMedia("(min-width: 901px)");
  const wide = ref(media.matches);
  const measure = () => (wide.value = media.matches);
  media.addEventListener("change", measure);
  onScopeDispose(() => media.removeEventListener("change", measure));
  return wide;
}
