import { createPinia, setActivePinia } from "pinia";
import { expect, test, vi } from "vitest";
import { useSession, type Self } from "@/session";
import { useMerchants } from "./merchants";

const answers = vi.hoisted(() => {
  const answers = vi.fn<(sent: Request) => Promise<Response>>();
  vi.stubGlobal("fetch", (to: RequestInfo | URL, init?: RequestInit) => answers(new Request(to, init)));
  return answers;
});

test("all merchants can be chosen, however many pages they fill", async () => {
  setActivePinia(createPinia());
  useSession().begin("token", { id: 1, username: "ann", platform: true, permissions: ["merchant:read"] } as Self);
  const all = Array.from({ length: 201 }, (_, i) => ({ id: i + 1, name: `店 ${i + 1}` }));
  answers.mockImplementation((sent) => {
    const page = Number(new URL(sent.url).searchParams.get("page"));
    return Promise.resolve(Response.json({ list: all.slice((page - 1) * 100, page * 100), total: all.length }));
  });
  const merchants = useMerchants();
  await merchants.load();
  expect(answers).toHaveBeenCalledTimes(3);
  expect(merchants.list).toHaveLength(201);
  expect(merchants.nameOf(201)).toBe("店 201");
});
