/** Whether a username has not the form that the server takes. */
export function usernameWrong(text: string): boolean {
  return !/^[a-z0-9][a-z0-9._@-]{2,63}$/.test(text.trim().toLowerCase());
}
