/** What is wrong with one field: its path, a stable code, and a message in the page's language. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
}

interface Problem {
  title?: string;
  detail?: string;
  code?: string;
  request_id?: string;
  retry_after_ms?: number;
  errors?: FieldError[];
}

/** A call that did not succeed. `code` is stable, `message` is for people, `requestId` finds the call in the server's log. */
export class ApiError extends Error {
  /** How long to wait before trying again, where the server says so. */
  retryAfterMs = 0;

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string,
    readonly errors: FieldError[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "ApiError";
  }

  /** The error in a reply; body is its problem+json, if it had one. */
  static of(response: Response, body: unknown): ApiError {
    const problem = (typeof body === "object" && body !== null ? body : {}) as Problem;
    const error = new ApiError(
      response.status,
      problem.code ?? `http_${response.status}`,
      problem.detail ?? problem.title ?? response.statusText,
      problem.request_id ?? response.headers.get("X-Request-Id") ?? "",
      problem.errors ?? [],
    );
    error.retryAfterMs = problem.retry_after_ms ?? 0;
    return error;
  }

  /** No reply came. */
  static offline(cause: unknown): ApiError {
    return new ApiError(0, "offline", "", "", [], { cause });
  }
}

/** The ApiError that something thrown is, or one that says what it was. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(0, "page_error", thrown instanceof Error ? thrown.message : String(thrown), "", [], { cause: thrown });
}
