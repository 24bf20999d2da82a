export { ExitError, Kerf, KerfError, Thread, TurnError } from "./exec.js";
export { LostError, Server, ServerError, Session, text } from "./serve.js";
