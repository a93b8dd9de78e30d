import { expect, it, vi } from "vitest";
import { ApiError } from "@/api/error";
import { useAction } from "./useAction";
import { useStale } from "./useStale";

it("repeats what came too late, on what is there now, and nothing else", async () => {
  const { run } = useAction();
  const { open, theirs, verb, ask, keepMine } = useStale(() => Promise.resolve({ version: 2 }));
  const sent = vi.fn<(what: string, version: number) => Promise<void>>();
  const send = (what: string, version: number, named?: string): Promise<boolean> =>
    run(() => sent(what, version), { stale: ask((now) => send(what, now.version, named), named) });

  await send("save", 1);
  sent.mockRejectedValueOnce(new ApiError(409, "stale_version", "", ""));
  await send("delete", 1, "Delete");
  expect([open.value, theirs.value, verb.value]).toEqual([true, { version: 2 }, "Delete"]);
  await keepMine();
  expect(sent.mock.calls).toEqual([
    ["save", 1],
    ["delete", 1],
    ["delete", 2],
  ]);
});
