// The words of kerf serve. Made by kerf schema --as typescript; do not edit.

/** Members that are empty are left out, but for those that are required. Readers pass over members they do not know. */
export type Words =
  | Event
  | Submission
  | OpenOptions;

export interface Agent {
  id?: Text;
  message?: Text;
  name?: Text;
  role?: Text;
  state?: Text;
  tokens?: number;
}

export interface Approval {
  agent?: Text;
  call?: Text;
  change?: ChangeApproval;
  command?: CommandApproval;
  id: Text;
  network?: NetworkApproval;
  question?: Question;
  reason: Text;
  said_by?: Text;
  says?: Text;
  tool?: ToolApproval;
}

export interface AttachParams {
  join?: boolean;
  life?: Text;
  session: Text;
  since?: number;
}

export interface AttachResult {
  first: number;
  last: number;
  life: Text;
  running?: Text;
  session: Text;
}

export type Body =
  | BodyAgentMessage
  | BodyAnswered
  | BodyCommand
  | BodyCompaction
  | BodyFileChange
  | BodyProblem
  | BodyProposedPlan
  | BodyReasoning
  | BodyReviewResult
  | BodySubAgent
  | BodyTodoList
  | BodyToolCall
  | BodyUserMessage
  | BodyWebSearch;

export interface BodyAgentMessage {
  type: "agent_message";
  text: Text;
}

export interface BodyAnswered {
  type: "answered";
  agent?: Text;
  asked?: Text;
  by?: Text;
  decision?: Text;
  kind?: Text;
  words?: Text;
}

export interface BodyCommand {
  type: "command";
  call?: Text;
  changes?: PathChange[];
  check?: boolean;
  command: Text;
  cwd?: Text;
  diff?: Text;
  exit_code?: number;
  lines?: number;
  no_sandbox?: boolean;
  output: Text;
  process?: number;
  terminal?: Text;
  user?: boolean;
  verdict?: Text;
}

export interface BodyCompaction {
  type: "compaction";
  after?: number;
  before?: number;
  summary?: Text;
}

export interface BodyFileChange {
  type: "file_change";
  call?: Text;
  changes?: PathChange[];
  diff?: Text;
  error?: Text;
  files?: FileText[];
}

export interface BodyProblem {
  type: "problem";
  message?: Text;
}

export interface BodyProposedPlan {
  type: "proposed_plan";
  text: Text;
}

export interface BodyReasoning {
  type: "reasoning";
  text: Text;
}

export interface BodyReviewResult {
  type: "review_result";
  findings?: Finding[];
  text?: Text;
}

export interface BodySubAgent {
  type: "sub_agent";
  agents?: Agent[];
  call?: Text;
  error?: Text;
  operation?: Text;
  prompt?: Text;
}

export interface BodyTodoList {
  type: "todo_list";
  explanation?: Text;
  steps?: Step[];
}

export interface BodyToolCall {
  type: "tool_call";
  /** any JSON */
  args?: unknown;
  call?: Text;
  changes?: PathChange[];
  error?: Text;
  images?: Text[];
  output?: Text;
  server?: Text;
  /** any JSON */
  structured?: unknown;
  tool: Text;
}

export interface BodyUserMessage {
  type: "user_message";
  input?: Input[];
}

export interface BodyWebSearch {
  type: "web_search";
  query?: Text;
}

export interface ChangeApproval {
  changes: PathChange[];
  diff: Text;
  files?: FileText[];
  unseen?: boolean;
}

export interface Choice {
  description?: Text;
  label?: Text;
}

export interface CommandApproval {
  command: Text;
  covers?: Text;
  cwd: Text;
  prefix?: Text[];
  rule?: Text;
  unsandboxed?: boolean;
}

export interface Event {
  agent?: Text;
  msg: Msg;
  seq: number;
  submission?: Text;
  time: string;
  turn?: Text;
}

export interface EventParams {
  event: Event;
  session: Text;
}

export interface FileText {
  new?: Text;
  old?: Text;
  path?: Text;
}

export interface Finding {
  body?: Text;
  confidence?: number;
  end?: number;
  path?: Text;
  priority?: number;
  start?: number;
  title?: Text;
}

export interface Goal {
  check?: Text;
  checks?: number;
  text?: Text;
}

export interface HelloParams {
  acp?: boolean;
  token: Text;
  version: number;
}

export interface HelloResult {
  kerf: Text;
  pid: number;
  version: number;
}

export interface Input {
  image_url?: Text;
  text?: Text;
}

export interface Item {
  body: Body;
  id: Text;
  status: Text;
}

export interface McpServer {
  args?: Text[];
  command?: Text;
  env?: Record<string, Text> | [Text, Text][];
  headers?: Record<string, Text> | [Text, Text][];
  name?: Text;
  url?: Text;
}

export type Msg =
  | MsgAgents
  | MsgApprovalRequested
  | MsgApprovalResolved
  | MsgHistoryCompacted
  | MsgItemCompleted
  | MsgItemDelta
  | MsgItemDropped
  | MsgItemStarted
  | MsgItemUpdated
  | MsgProcesses
  | MsgQueueChanged
  | MsgRateLimits
  | MsgRetrying
  | MsgServers
  | MsgSessionEnded
  | MsgSessionStarted
  | MsgSettingsChanged
  | MsgTitleChanged
  | MsgTokensUsed
  | MsgTurnAborted
  | MsgTurnCompleted
  | MsgTurnDiff
  | MsgTurnFailed
  | MsgTurnStarted
  | MsgUndone
  | MsgWarning;

export interface MsgAgents {
  type: "agents";
  agents?: Agent[];
}

export interface MsgApprovalRequested {
  type: "approval_requested";
  approval: Approval;
}

export interface MsgApprovalResolved {
  type: "approval_resolved";
  approval: Text;
  decision: Text;
}

export interface MsgHistoryCompacted {
  type: "history_compacted";
  after?: number;
  auto?: boolean;
  before?: number;
}

export interface MsgItemCompleted {
  type: "item_completed";
  item: Item;
}

export interface MsgItemDelta {
  type: "item_delta";
  item: Text;
  text: Text;
}

export interface MsgItemDropped {
  type: "item_dropped";
  item: Text;
}

export interface MsgItemStarted {
  type: "item_started";
  item: Item;
}

export interface MsgItemUpdated {
  type: "item_updated";
  item: Item;
}

export interface MsgProcesses {
  type: "processes";
  ended?: number;
  over?: Process[];
  running?: Process[];
}

export interface MsgQueueChanged {
  type: "queue_changed";
  joining?: Input[][];
  taken?: Input[];
  waiting?: Input[][];
}

export interface MsgRateLimits {
  type: "rate_limits";
  values?: Record<string, Text> | [Text, Text][];
}

export interface MsgRetrying {
  type: "retrying";
  attempt?: number;
  cause?: Text;
  /** nanoseconds */
  delay?: number;
  max?: number;
}

export interface MsgServers {
  type: "servers";
  servers?: Server[];
}

export interface MsgSessionEnded {
  type: "session_ended";
}

export interface MsgSessionStarted {
  type: "session_started";
  provider?: Text;
  resumed?: boolean;
  session: Text;
  settings: Settings;
}

export interface MsgSettingsChanged {
  type: "settings_changed";
  settings: Settings;
}

export interface MsgTitleChanged {
  type: "title_changed";
  title: Text;
}

export interface MsgTokensUsed {
  type: "tokens_used";
  last?: Usage;
  total?: Usage;
  turn?: Usage;
  window?: number;
}

export interface MsgTurnAborted {
  type: "turn_aborted";
  reason: Text;
  undelivered?: Input[];
}

export interface MsgTurnCompleted {
  type: "turn_completed";
  /** nanoseconds */
  duration?: number;
  last_message: Text;
  usage: Usage;
}

export interface MsgTurnDiff {
  type: "turn_diff";
  diff?: Text;
  exact?: boolean;
  files?: number;
  not_covered?: Text[];
  note?: Text;
  outside?: Text;
  running?: boolean;
  unproven?: Text[];
}

export interface MsgTurnFailed {
  type: "turn_failed";
  error: Trouble;
}

export interface MsgTurnStarted {
  type: "turn_started";
}

export interface MsgUndone {
  type: "undone";
  report: UndoReport;
}

export interface MsgWarning {
  type: "warning";
  message: Text;
}

export interface NetworkApproval {
  command?: Text;
  host?: Text;
  port?: number;
}

export type Op =
  | OpAddress
  | OpAnswer
  | OpCompact
  | OpConfigure
  | OpInterrupt
  | OpKill
  | OpListProcesses
  | OpRename
  | OpReview
  | OpRewind
  | OpShell
  | OpShutdown
  | OpUndo
  | OpUnqueue
  | OpUserInput;

export interface OpAddress {
  type: "address";
  agent?: Text;
  op?: Op;
}

export interface OpAnswer {
  type: "answer";
  approval?: Text;
  /** any JSON */
  content?: unknown;
  decision?: Text;
  edited?: Record<string, Text> | [Text, Text][];
  words?: Text;
}

export interface OpCompact {
  type: "compact";
}

export interface OpConfigure {
  type: "configure";
  settings?: Settings;
}

export interface OpInterrupt {
  type: "interrupt";
}

export interface OpKill {
  type: "kill";
  process?: number;
}

export interface OpListProcesses {
  type: "list_processes";
}

export interface OpRename {
  type: "rename";
  title?: Text;
}

export interface OpReview {
  type: "review";
  base?: Text;
  commit?: Text;
  words?: Text;
}

export interface OpRewind {
  type: "rewind";
  conversation?: boolean;
  files?: boolean;
  turn?: Text;
}

export interface OpShell {
  type: "shell";
  command?: Text;
}

export interface OpShutdown {
  type: "shutdown";
}

export interface OpUndo {
  type: "undo";
  call?: Text;
  conflicts?: Text;
  dry_run?: boolean;
  hunks?: Record<string, number[]> | [Text, number[]][];
  lines?: Record<string, number[]> | [Text, number[]][];
  paths?: Text[];
  redo?: boolean;
  turn?: Text;
}

export interface OpUnqueue {
  type: "unqueue";
}

export interface OpUserInput {
  type: "user_input";
  goal?: Goal;
  items?: Input[];
  queue?: boolean;
  replace?: boolean;
  /** any JSON */
  schema?: unknown;
  settings?: Settings;
}

export interface OpenOptions {
  add_dirs?: Text[];
  any_cwd?: boolean;
  ephemeral?: boolean;
  fork?: Text;
  fork_turn?: Text;
  headless?: boolean;
  last?: boolean;
  mcp?: McpServer[];
  resume?: Text;
  settings?: Settings;
  source?: Text;
}

export interface OpenParams {
  options?: OpenOptions;
}

export interface PathChange {
  certainty?: Text;
  control_file?: boolean;
  kind: Text;
  moved?: Text;
  path: Text;
}

export interface Process {
  command?: Text;
  failed?: boolean;
  id?: number;
  outcome?: Text;
  output?: Text;
  since?: string;
  /** nanoseconds */
  took?: number;
}

export interface Question {
  free?: boolean;
  header?: Text;
  message?: Text;
  options?: Choice[];
  /** any JSON */
  schema?: unknown;
  server?: Text;
  url?: Text;
}

export interface Server {
  error?: Text;
  name?: Text;
  prompts?: Text[];
  resources?: Text[];
  state?: Text;
  tools?: Text[];
}

export interface Session {
  cwd: Text;
  events: number;
  faces: number;
  id: Text;
  model: Text;
  opened: number;
  processes: number;
  questions: number;
  state: Text;
  title: Text;
}

export interface SessionParams {
  session: Text;
}

export interface SessionsResult {
  sessions: Session[];
}

export interface Settings {
  approval_policy?: Text;
  cwd?: Text;
  edits?: Text;
  effort?: Text;
  model?: Text;
  sandbox_mode?: Text;
}

export interface Step {
  status?: Text;
  step?: Text;
}

export interface Submission {
  id?: Text;
  op: Op;
}

export interface SubmitParams {
  id?: Text;
  op: Op;
  session: Text;
}

/** text, or bytes that are not UTF-8 */
export type Text =
  | string
  | Bytes;

export interface Bytes {
  b64: string;
}

export interface ToolApproval {
  args?: Text;
  changed?: Text;
  server?: Text;
  tool?: Text;
}

export interface Trouble {
  hint?: Text;
  kind: Text;
  message: Text;
}

export interface UndoFile {
  note?: Text;
  outcome?: Text;
  path?: Text;
  removed?: boolean;
}

export interface UndoReport {
  diff?: Text;
  dry_run?: boolean;
  files?: UndoFile[];
  problem?: Text;
  redo?: boolean;
  what?: Text;
}

export interface Usage {
  cache_write_input_tokens?: number;
  cached_input_tokens?: number;
  input_tokens?: number;
  output_tokens?: number;
  reasoning_output_tokens?: number;
}
