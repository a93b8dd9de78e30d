import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/error";
import { useAction } from "./useAction";

describe("an action that comes too late", () => {
  const late = () => Promise.reject(new ApiError(409, "stale_version", "too late", ""));

  it("asks instead of failing", async () => {
    const { run, error } = useAction();
    let asked = false;
    expect(await run(late, { stale: () => (asked = true) })).toBe(false);
    expect([asked, error.value]).toEqual([true, undefined]);
  });

  it.each([
    ["later", () => Promise.reject(new ApiError(404, "not_found", "gone", ""))],
    [
      "at once",
      () => {
        throw new ApiError(404, "not_found", "gone", "");
      },
    ],
  ])("says so where what was changed is gone, known %s", async (_, stale) => {
    const { run, error, busy } = useAction();
    expect(await run(late, { stale })).toBe(false);
    expect(error.value?.code).toBe("not_found");
    expect(busy.value).toBe(false);
  });
});
