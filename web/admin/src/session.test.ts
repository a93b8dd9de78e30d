import { createPinia } from "pinia";
import { beforeEach, describe, expect, it } from "vitest";
import { useSession, type Self } from "./session";

const key = "tidemall.session";
const ann = { id: 1, username: "ann" } as Self;
const ben = { id: 2, username: "ben" } as Self;
const kept = () => JSON.parse(localStorage.getItem(key) ?? "null") as { token: string } | null;

/** A tab of the browser: each has a store of its own, what is kept they have in common. */
const tab = () => useSession(createPinia());

beforeEach(() => localStorage.clear());

describe("the session in two tabs", () => {
  it("goes on with the token that the other tab got for a new password, and with what is open", () => {
    const a = tab();
    a.begin("old", ann);
    const b = tab();
    b.self = ann;
    b.actFor(7);
    a.begin("new", ann);
    b.follow();
    expect([b.token, b.self, b.merchantId]).toEqual(["new", ann, 7]);
  });

  it("is not ended by the answer to a call with an older token", () => {
    const a = tab();
    a.begin("old", ann);
    const b = tab();
    b.self = ann;
    a.begin("new", ann);
    a.expired("old"); // a poll of its own that was under way
    b.expired("old"); // one of the other tab, before the browser told it
    expect([a.token, b.token, kept()?.token]).toEqual(["new", "new", "new"]);
    b.expired("new");
    expect([b.token, b.endedByServer, kept()]).toEqual(["", true, null]);
  });

  it("leaves a later token where it is kept when it ends", () => {
    const a = tab();
    a.begin("old", ann);
    const b = tab();
    a.begin("new", ann);
    b.end();
    expect(kept()?.token).toBe("new");
  });

  it("does not put an older token back by choosing a shop", () => {
    const a = tab();
    a.begin("old", ann);
    const b = tab();
    a.begin("new", ann);
    b.actFor(3);
    expect(kept()?.token).toBe("new");
  });

  it("ends with the other tab's, and begins anew for whoever logs in there", () => {
    const a = tab();
    a.begin("hers", ann);
    a.actFor(7);
    const b = tab();
    b.self = ann;
    a.end();
    b.follow();
    expect([b.token, b.self, b.endedByServer]).toEqual(["", undefined, false]);
    a.begin("his", ben);
    b.follow();
    expect([b.token, b.self, b.merchantId]).toEqual(["his", undefined, 0]);
  });
});
