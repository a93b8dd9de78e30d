// The server's operations, typed by its own OpenAPI document.
import createClient, { createQuerySerializer, type Middleware } from "openapi-fetch";
import { language } from "@/i18n";
import { useSession } from "@/session";
import { ApiError } from "./error";
import type { paths } from "./schema";

/** Says whose call it is, and in which language the answer is to be. */
function sign(headers: Headers): void {
  const { token } = useSession();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  headers.set("Accept-Language", language.value === "zh" ? "zh-CN" : "en");
}

/** Ends the session where its token, with which the call was sent, is not good any more; a later one's it leaves alone. */
function heed(response: Response, sent: Headers): void {
  const token = sent.get("Authorization")?.replace("Bearer ", "");
  if (response.status === 401 && token) useSession().expired(token);
}

const session: Middleware = {
  onRequest: ({ request }) => sign(request.headers),
  onResponse: ({ request, response }) => heed(response, request.headers),
};

const query = createQuerySerializer();

/** The client: `await call(api.GET("/api/admin/v1/orders", { params: { query: { page: 1 } } }))`. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  // The shop is part of the address from the start: browsers send the body of a request that was copied to another address as a
  // stream, which HTTP/1.1 does not have.
  querySerializer: (said) => query({ ...said, merchant_id: said.merchant_id ?? (useSession().merchantId || undefined) }),
});
api.use(session);

/** Waits for a call and returns its body (undefined for 204). Throws an ApiError for every other outcome. */
export async function call<T>(pending: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let got;
  try {
    got = await pending;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw ApiError.offline(cause);
  }
  if (got.response.ok) return got.data as T;
  throw ApiError.of(got.response, got.error);
}

/** A new Idempotency-Key; keep it while the same submit is repeated. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** Calls what the typed client does not: files, in either direction. Throws an ApiError for every outcome but success. */
async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const { merchantId } = useSession();
  const url = new URL(path, window.location.origin);
  if (merchantId) url.searchParams.set("merchant_id", String(merchantId));
  const headers = new Headers();
  sign(headers);
  const response = await fetch(url, { ...init, headers }).catch((cause: unknown) => {
    throw ApiError.offline(cause);
  });
  heed(response, headers);
  if (!response.ok) throw ApiError.of(response, await response.json().catch(() => undefined));
  return response;
}

/** Fetches a file of the API with the session's token (a download, or a picture that needs one). */
export async function fetchFile(path: string): Promise<Blob> {
  return (await send(path)).blob();
}

/** Sends a form (files) and returns the reply's body. */
export async function sendForm<T>(path: string, form: FormData): Promise<T> {
  return (await (await send(path, { method: "POST", body: form })).json()) as T;
}
