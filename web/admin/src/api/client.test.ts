import { createPinia, setActivePinia } from "pinia";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useSession, type Self } from "@/session";
import { api, call, fetchFile, sendForm } from "./client";

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

const refused = () => Promise.resolve(new Response(JSON.stringify({ code: "token_invalid" }), { status: 401 }));

describe("a token that is not good any more", () => {
  it.each([
    ["call", () => call(api.GET("/api/admin/v1/panel"))],
    ["fetchFile", () => fetchFile("/api/admin/v1/jobs/1/file")],
    ["sendForm", () => sendForm("/api/admin/v1/files", new FormData())],
  ])("ends the session by %s", async (_, send) => {
    answers.mockImplementation(refused);
    await expect(send()).rejects.toMatchObject({ status: 401, code: "token_invalid" });
    expect(useSession().token).toBe("");
    expect(useSession().endedByServer).toBe(true);
  });

  it("ends no session but its own", async () => {
    let answer: (r: Response) => void = () => {};
    answers.mockImplementation(() => new Promise((resolve) => (answer = resolve)));
    const poll = call(api.GET("/api/admin/v1/report/todo"));
    await vi.waitFor(() => expect(answers).toHaveBeenCalled());
    useSession().begin("second", ann);
    answer(await refused());
    await expect(poll).rejects.toMatchObject({ status: 401 });
    expect(useSession().token).toBe("second");
  });
});

it("names the shop that is acted for, unless the call names one", async () => {
  useSession().actFor(7);
  answers.mockImplementation(() => Promise.resolve(new Response("{}")));
  await call(api.GET("/api/admin/v1/orders", { params: { query: { page: 2 } } }));
  await call(api.GET("/api/admin/v1/orders", { params: { query: { merchant_id: 3 } } }));
  const [own, named] = answers.mock.calls.map(([sent]) => new URL(sent.url).searchParams);
  expect([own?.get("merchant_id"), own?.get("page"), named?.get("merchant_id")]).toEqual(["7", "2", "3"]);
});
