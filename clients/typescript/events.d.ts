// A line of kerf exec --json. Made by kerf schema --as typescript; do not edit.

/** Readers pass over types and fields they do not know. */
export type Event =
  | ThreadStartedEvent
  | TurnStartedEvent
  | ItemStartedEvent
  | ItemUpdatedEvent
  | ItemCompletedEvent
  | ErrorEvent
  | TurnCompletedEvent
  | TurnFailedEvent;

export interface ThreadStartedEvent {
  type: "thread.started";
  thread_id: string;
}

export interface TurnStartedEvent {
  type: "turn.started";
}

export interface ItemStartedEvent {
  type: "item.started";
  item: Item;
}

export interface ItemUpdatedEvent {
  type: "item.updated";
  item: Item;
}

export interface ItemCompletedEvent {
  type: "item.completed";
  item: Item;
}

export interface ErrorEvent {
  type: "error";
  message: string;
}

export interface TurnCompletedEvent {
  type: "turn.completed";
  undo?: Undo;
  usage: Usage;
}

export interface Undo {
  everything: boolean;
  not_covered: string[];
}

export interface Usage {
  cache_write_input_tokens: number;
  cached_input_tokens: number;
  input_tokens: number;
  output_tokens: number;
  reasoning_output_tokens: number;
}

export interface TurnFailedEvent {
  type: "turn.failed";
  error: TurnFailedEventError;
  undo?: Undo;
}

export interface TurnFailedEventError {
  message: string;
}

export type Item =
  | AgentMessageItem
  | ReasoningItem
  | PlanItem
  | WebSearchItem
  | ErrorItem
  | CommandExecutionItem
  | FileChangeItem
  | McpToolCallItem
  | CollabToolCallItem
  | ReviewItem
  | TodoListItem;

export interface AgentMessageItem {
  type: "agent_message";
  id: string;
  text: string;
}

export interface ReasoningItem {
  type: "reasoning";
  id: string;
  text: string;
}

export interface PlanItem {
  type: "plan";
  id: string;
  text: string;
}

export interface WebSearchItem {
  type: "web_search";
  id: string;
  query: string;
}

export interface ErrorItem {
  type: "error";
  id: string;
  message: string;
}

export interface CommandExecutionItem {
  type: "command_execution";
  aggregated_output: string;
  check?: boolean;
  command: string;
  exit_code: number | null;
  id: string;
  status: "in_progress" | "completed" | "failed" | "declined";
  verdict?: string;
}

export interface FileChangeItem {
  type: "file_change";
  changes: Change[];
  id: string;
  status: "in_progress" | "completed" | "failed";
}

export interface Change {
  certainty?: string;
  kind: "add" | "delete" | "update";
  path: string | Bytes;
  steers?: boolean;
}

/** a name that is not UTF-8: its bytes in base64 */
export interface Bytes {
  b64: string;
}

export interface McpToolCallItem {
  type: "mcp_tool_call";
  arguments: unknown;
  error: McpToolCallItemError | null;
  id: string;
  result: Result | null;
  server: string;
  status: "in_progress" | "completed" | "failed";
  tool: string;
}

export interface McpToolCallItemError {
  message: string;
}

export interface Result {
  content: Content[];
  structured_content: unknown;
}

export interface Content {
  type: string;
  data?: string;
  mimeType?: string;
  text?: string | null;
}

export interface CollabToolCallItem {
  type: "collab_tool_call";
  agents_states: Record<string, AgentsState>;
  error?: CollabToolCallItemError | null;
  id: string;
  prompt: string | null;
  receiver_thread_ids: string[];
  sender_thread_id: string;
  status: "in_progress" | "completed" | "failed";
  tool: string;
}

export interface AgentsState {
  message: string | null;
  status: string;
}

export interface CollabToolCallItemError {
  message: string;
}

export interface ReviewItem {
  type: "review";
  findings: Finding[];
  id: string;
  text: string;
}

export interface Finding {
  body: string;
  confidence: number;
  end: number;
  path: string;
  priority: number;
  start: number;
  title: string;
}

export interface TodoListItem {
  type: "todo_list";
  id: string;
  items: TodoListItemItems[];
}

export interface TodoListItemItems {
  completed: boolean;
  text: string;
}
