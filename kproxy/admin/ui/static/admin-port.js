// Asking the admin port that this page came from.

const API = new URL("../api/v1/", import.meta.url);
const TOKEN = "kproxy-token";
const PATIENCE_MS = 12_000; // a look at all groups takes four and a half seconds where brokers do not answer

/** What was answered instead of what was asked for. `status` is 0 when nobody answered. */
export class NotAnswered extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Keeps the token for this tab, until it is closed. */
export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

/** Returns the answer to a path below /api/v1, whose parts may hold any character. Throws NotAnswered. */
export async function ask(path, query = {}) {
  const url = new URL(path.map(encodeURIComponent).join("/"), API);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const token = sessionStorage.getItem(TOKEN);
  let response;
  try {
    response = await fetch(url, {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    const why = error.name === "TimeoutError" ? `nothing for ${PATIENCE_MS / 1000} s` : "nobody there";
    throw new NotAnswered(0, why);
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new NotAnswered(response.ok ? 0 : response.status, `${response.status} without JSON`);
  }
  if (!response.ok) throw new NotAnswered(response.status, answer.items?.[0]?.message ?? `status ${response.status}`);
  return answer;
}
