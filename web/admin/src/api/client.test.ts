import { createPinia, setActivePinia } from "pinia";
import { beforeEach, expect, it, vi } from "vitest";
import { useSession, type Self } from "@/session";
import { api, call } from "./client";

const ann = { id: 1, username: "ann" } as Self;
/** Stands in for the server; the client takes fetch as it finds it when it is imported. */
const answers = vi.hoisted(() => {
  const answers = vi.fn<(sent: Request) => Promise<Response>>();
  vi.stubGlobal("fetch", (to: RequestInfo | URL, init?: RequestInit) => answers(new Request(to, init)));
  return answers;
});

beforeEach(() => {
  localStorage.clear();
  setActivePinia(createPinia());
  useSession().begin("first", ann);
  answers.mockReset();
});

it("names the shop that is acted for, unless the call names one", async () => {
  useSession().actFor(7);
  answers.mockImplementation(() => Promise.resolve(new Response("{}")));
  await call(api.GET("/api/admin/v1/orders", { params: { query: { page: 2 } } }));
  await call(api.GET("/api/admin/v1/orders", { params: { query: { merchant_id: 3 } } }));
  const [own, named] = answers.mock.calls.map(([sent]) => new URL(sent.url).searchParams);
  expect([own?.get("merchant_id"), own?.get("page"), named?.get("merchant_id")]).toEqual(["7", "2", "3"]);
});
