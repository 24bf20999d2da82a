# Made by kerf schema --as python; do not edit.
"""The words of kerf serve."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union

# Members that are empty are left out, but for those that are required. Readers pass over members they do not know.
Words: TypeAlias = "Union[Event, Submission, OpenOptions]"


class Agent(TypedDict):
    id: NotRequired["Text"]
    message: NotRequired["Text"]
    name: NotRequired["Text"]
    role: NotRequired["Text"]
    state: NotRequired["Text"]
    tokens: NotRequired[int]


class Approval(TypedDict):
    agent: NotRequired["Text"]
    call: NotRequired["Text"]
    change: NotRequired["ChangeApproval"]
    command: NotRequired["CommandApproval"]
    id: "Text"
    network: NotRequired["NetworkApproval"]
    question: NotRequired["Question"]
    reason: "Text"
    said_by: NotRequired["Text"]
    says: NotRequired["Text"]
    tool: NotRequired["ToolApproval"]


class AttachParams(TypedDict):
    join: NotRequired[bool]
    life: NotRequired["Text"]
    session: "Text"
    since: NotRequired[int]


class AttachResult(TypedDict):
    first: int
    last: int
    life: "Text"
    running: NotRequired["Text"]
    session: "Text"

Body: TypeAlias = "Union[BodyAgentMessage, BodyAnswered, BodyCommand, BodyCompaction, BodyFileChange, BodyProblem, BodyProposedPlan, BodyReasoning, BodyReviewResult, BodySubAgent, BodyTodoList, BodyToolCall, BodyUserMessage, BodyWebSearch]"


class BodyAgentMessage(TypedDict):
    type: Literal["agent_message"]
    text: "Text"


class BodyAnswered(TypedDict):
    type: Literal["answered"]
    agent: NotRequired["Text"]
    asked: NotRequired["Text"]
    by: NotRequired["Text"]
    decision: NotRequired["Text"]
    kind: NotRequired["Text"]
    words: NotRequired["Text"]


class BodyCommand(TypedDict):
    type: Literal["command"]
    call: NotRequired["Text"]
    changes: NotRequired["list[PathChange]"]
    check: NotRequired[bool]
    command: "Text"
    cwd: NotRequired["Text"]
    diff: NotRequired["Text"]
    exit_code: NotRequired[int]
    lines: NotRequired[int]
    no_sandbox: NotRequired[bool]
    output: "Text"
    process: NotRequired[int]
    terminal: NotRequired["Text"]
    user: NotRequired[bool]
    verdict: NotRequired["Text"]


class BodyCompaction(TypedDict):
    type: Literal["compaction"]
    after: NotRequired[int]
    before: NotRequired[int]
    summary: NotRequired["Text"]


class BodyFileChange(TypedDict):
    type: Literal["file_change"]
    call: NotRequired["Text"]
    changes: NotRequired["list[PathChange]"]
    diff: NotRequired["Text"]
    error: NotRequired["Text"]
    files: NotRequired["list[FileText]"]


class BodyProblem(TypedDict):
    type: Literal["problem"]
    message: NotRequired["Text"]


class BodyProposedPlan(TypedDict):
    type: Literal["proposed_plan"]
    text: "Text"


class BodyReasoning(TypedDict):
    type: Literal["reasoning"]
    text: "Text"


class BodyReviewResult(TypedDict):
    type: Literal["review_result"]
    findings: NotRequired["list[Finding]"]
    text: NotRequired["Text"]


class BodySubAgent(TypedDict):
    type: Literal["sub_agent"]
    agents: NotRequired["list[Agent]"]
    call: NotRequired["Text"]
    error: NotRequired["Text"]
    operation: NotRequired["Text"]
    prompt: NotRequired["Text"]


class BodyTodoList(TypedDict):
    type: Literal["todo_list"]
    explanation: NotRequired["Text"]
    steps: NotRequired["list[Step]"]


class BodyToolCall(TypedDict):
    type: Literal["tool_call"]
    # any JSON
    args: NotRequired[Any]
    call: NotRequired["Text"]
    changes: NotRequired["list[PathChange]"]
    error: NotRequired["Text"]
    images: NotRequired["list[Text]"]
    output: NotRequired["Text"]
    server: NotRequired["Text"]
    # any JSON
    structured: NotRequired[Any]
    tool: "Text"


class BodyUserMessage(TypedDict):
    type: Literal["user_message"]
    input: NotRequired["list[Input]"]


class BodyWebSearch(TypedDict):
    type: Literal["web_search"]
    query: NotRequired["Text"]


class ChangeApproval(TypedDict):
    changes: "list[PathChange]"
    diff: "Text"
    files: NotRequired["list[FileText]"]
    unseen: NotRequired[bool]


class Choice(TypedDict):
    description: NotRequired["Text"]
    label: NotRequired["Text"]


class CommandApproval(TypedDict):
    command: "Text"
    covers: NotRequired["Text"]
    cwd: "Text"
    prefix: NotRequired["list[Text]"]
    rule: NotRequired["Text"]
    unsandboxed: NotRequired[bool]


class Event(TypedDict):
    agent: NotRequired["Text"]
    msg: "Msg"
    seq: int
    submission: NotRequired["Text"]
    time: str
    turn: NotRequired["Text"]


class EventParams(TypedDict):
    event: "Event"
    session: "Text"


class FileText(TypedDict):
    new: NotRequired["Text"]
    old: NotRequired["Text"]
    path: NotRequired["Text"]


class Finding(TypedDict):
    body: NotRequired["Text"]
    confidence: NotRequired[float]
    end: NotRequired[int]
    path: NotRequired["Text"]
    priority: NotRequired[int]
    start: NotRequired[int]
    title: NotRequired["Text"]


class Goal(TypedDict):
    check: NotRequired["Text"]
    checks: NotRequired[int]
    text: NotRequired["Text"]


class HelloParams(TypedDict):
    acp: NotRequired[bool]
    token: "Text"
    version: int


class HelloResult(TypedDict):
    kerf: "Text"
    pid: int
    version: int


class Input(TypedDict):
    image_url: NotRequired["Text"]
    text: NotRequired["Text"]


class Item(TypedDict):
    body: "Body"
    id: "Text"
    status: "Text"


class McpServer(TypedDict):
    args: NotRequired["list[Text]"]
    command: NotRequired["Text"]
    env: NotRequired["Union[dict[str, Text], list[tuple[Text, Text]]]"]
    headers: NotRequired["Union[dict[str, Text], list[tuple[Text, Text]]]"]
    name: NotRequired["Text"]
    url: NotRequired["Text"]

Msg: TypeAlias = "Union[MsgAgents, MsgApprovalRequested, MsgApprovalResolved, MsgHistoryCompacted, MsgItemCompleted, MsgItemDelta, MsgItemDropped, MsgItemStarted, MsgItemUpdated, MsgProcesses, MsgQueueChanged, MsgRateLimits, MsgRetrying, MsgServers, MsgSessionEnded, MsgSessionStarted, MsgSettingsChanged, MsgTitleChanged, MsgTokensUsed, MsgTurnAborted, MsgTurnCompleted, MsgTurnDiff, MsgTurnFailed, MsgTurnStarted, MsgUndone, MsgWarning]"


class MsgAgents(TypedDict):
    type: Literal["agents"]
    agents: NotRequired["list[Agent]"]


class MsgApprovalRequested(TypedDict):
    type: Literal["approval_requested"]
    approval: "Approval"


class MsgApprovalResolved(TypedDict):
    type: Literal["approval_resolved"]
    approval: "Text"
    decision: "Text"


class MsgHistoryCompacted(TypedDict):
    type: Literal["history_compacted"]
    after: NotRequired[int]
    auto: NotRequired[bool]
    before: NotRequired[int]


class MsgItemCompleted(TypedDict):
    type: Literal["item_completed"]
    item: "Item"


class MsgItemDelta(TypedDict):
    type: Literal["item_delta"]
    item: "Text"
    text: "Text"


class MsgItemDropped(TypedDict):
    type: Literal["item_dropped"]
    item: "Text"


class MsgItemStarted(TypedDict):
    type: Literal["item_started"]
    item: "Item"


class MsgItemUpdated(TypedDict):
    type: Literal["item_updated"]
    item: "Item"


class MsgProcesses(TypedDict):
    type: Literal["processes"]
    ended: NotRequired[int]
    over: NotRequired["list[Process]"]
    running: NotRequired["list[Process]"]


class MsgQueueChanged(TypedDict):
    type: Literal["queue_changed"]
    joining: NotRequired["list[list[Input]]"]
    taken: NotRequired["list[Input]"]
    waiting: NotRequired["list[list[Input]]"]


class MsgRateLimits(TypedDict):
    type: Literal["rate_limits"]
    values: NotRequired["Union[dict[str, Text], list[tuple[Text, Text]]]"]


class MsgRetrying(TypedDict):
    type: Literal["retrying"]
    attempt: NotRequired[int]
    cause: NotRequired["Text"]
    # nanoseconds
    delay: NotRequired[int]
    max: NotRequired[int]


class MsgServers(TypedDict):
    type: Literal["servers"]
    servers: NotRequired["list[Server]"]


class MsgSessionEnded(TypedDict):
    type: Literal["session_ended"]


class MsgSessionStarted(TypedDict):
    type: Literal["session_started"]
    provider: NotRequired["Text"]
    resumed: NotRequired[bool]
    session: "Text"
    settings: "Settings"


class MsgSettingsChanged(TypedDict):
    type: Literal["settings_changed"]
    settings: "Settings"


class MsgTitleChanged(TypedDict):
    type: Literal["title_changed"]
    title: "Text"


class MsgTokensUsed(TypedDict):
    type: Literal["tokens_used"]
    last: NotRequired["Usage"]
    total: NotRequired["Usage"]
    turn: NotRequired["Usage"]
    window: NotRequired[int]


class MsgTurnAborted(TypedDict):
    type: Literal["turn_aborted"]
    reason: "Text"
    undelivered: NotRequired["list[Input]"]


class MsgTurnCompleted(TypedDict):
    type: Literal["turn_completed"]
    # nanoseconds
    duration: NotRequired[int]
    last_message: "Text"
    usage: "Usage"


class MsgTurnDiff(TypedDict):
    type: Literal["turn_diff"]
    diff: NotRequired["Text"]
    exact: NotRequired[bool]
    files: NotRequired[int]
    not_covered: NotRequired["list[Text]"]
    note: NotRequired["Text"]
    outside: NotRequired["Text"]
    running: NotRequired[bool]
    unproven: NotRequired["list[Text]"]


class MsgTurnFailed(TypedDict):
    type: Literal["turn_failed"]
    error: "Trouble"


class MsgTurnStarted(TypedDict):
    type: Literal["turn_started"]


class MsgUndone(TypedDict):
    type: Literal["undone"]
    report: "UndoReport"


class MsgWarning(TypedDict):
    type: Literal["warning"]
    message: "Text"


class NetworkApproval(TypedDict):
    command: NotRequired["Text"]
    host: NotRequired["Text"]
    port: NotRequired[int]

Op: TypeAlias = "Union[OpAddress, OpAnswer, OpCompact, OpConfigure, OpInterrupt, OpKill, OpListProcesses, OpRename, OpReview, OpRewind, OpShell, OpShutdown, OpUndo, OpUnqueue, OpUserInput]"


class OpAddress(TypedDict):
    type: Literal["address"]
    agent: NotRequired["Text"]
    op: NotRequired["Op"]


class OpAnswer(TypedDict):
    type: Literal["answer"]
    approval: NotRequired["Text"]
    # any JSON
    content: NotRequired[Any]
    decision: NotRequired["Text"]
    edited: NotRequired["Union[dict[str, Text], list[tuple[Text, Text]]]"]
    words: NotRequired["Text"]


class OpCompact(TypedDict):
    type: Literal["compact"]


class OpConfigure(TypedDict):
    type: Literal["configure"]
    settings: NotRequired["Settings"]


class OpInterrupt(TypedDict):
    type: Literal["interrupt"]


class OpKill(TypedDict):
    type: Literal["kill"]
    process: NotRequired[int]


class OpListProcesses(TypedDict):
    type: Literal["list_processes"]


class OpRename(TypedDict):
    type: Literal["rename"]
    title: NotRequired["Text"]


class OpReview(TypedDict):
    type: Literal["review"]
    base: NotRequired["Text"]
    commit: NotRequired["Text"]
    words: NotRequired["Text"]


class OpRewind(TypedDict):
    type: Literal["rewind"]
    conversation: NotRequired[bool]
    files: NotRequired[bool]
    turn: NotRequired["Text"]


class OpShell(TypedDict):
    type: Literal["shell"]
    command: NotRequired["Text"]


class OpShutdown(TypedDict):
    type: Literal["shutdown"]


class OpUndo(TypedDict):
    type: Literal["undo"]
    call: NotRequired["Text"]
    conflicts: NotRequired["Text"]
    dry_run: NotRequired[bool]
    hunks: NotRequired["Union[dict[str, list[int]], list[tuple[Text, list[int]]]]"]
    lines: NotRequired["Union[dict[str, list[int]], list[tuple[Text, list[int]]]]"]
    paths: NotRequired["list[Text]"]
    redo: NotRequired[bool]
    turn: NotRequired["Text"]


class OpUnqueue(TypedDict):
    type: Literal["unqueue"]


class OpUserInput(TypedDict):
    type: Literal["user_input"]
    goal: NotRequired["Goal"]
    items: NotRequired["list[Input]"]
    queue: NotRequired[bool]
    replace: NotRequired[bool]
    # any JSON
    schema: NotRequired[Any]
    settings: NotRequired["Settings"]


class OpenOptions(TypedDict):
    add_dirs: NotRequired["list[Text]"]
    any_cwd: NotRequired[bool]
    ephemeral: NotRequired[bool]
    fork: NotRequired["Text"]
    fork_turn: NotRequired["Text"]
    headless: NotRequired[bool]
    last: NotRequired[bool]
    mcp: NotRequired["list[McpServer]"]
    resume: NotRequired["Text"]
    settings: NotRequired["Settings"]
    source: NotRequired["Text"]


class OpenParams(TypedDict):
    options: NotRequired["OpenOptions"]


class PathChange(TypedDict):
    certainty: NotRequired["Text"]
    control_file: NotRequired[bool]
    kind: "Text"
    moved: NotRequired["Text"]
    path: "Text"


class Process(TypedDict):
    command: NotRequired["Text"]
    failed: NotRequired[bool]
    id: NotRequired[int]
    outcome: NotRequired["Text"]
    output: NotRequired["Text"]
    since: NotRequired[str]
    # nanoseconds
    took: NotRequired[int]


class Question(TypedDict):
    free: NotRequired[bool]
    header: NotRequired["Text"]
    message: NotRequired["Text"]
    options: NotRequired["list[Choice]"]
    # any JSON
    schema: NotRequired[Any]
    server: NotRequired["Text"]
    url: NotRequired["Text"]


class Server(TypedDict):
    error: NotRequired["Text"]
    name: NotRequired["Text"]
    prompts: NotRequired["list[Text]"]
    resources: NotRequired["list[Text]"]
    state: NotRequired["Text"]
    tools: NotRequired["list[Text]"]


class Session(TypedDict):
    cwd: "Text"
    events: int
    faces: int
    id: "Text"
    model: "Text"
    opened: int
    processes: int
    questions: int
    state: "Text"
    title: "Text"


class SessionParams(TypedDict):
    session: "Text"


class SessionsResult(TypedDict):
    sessions: "list[Session]"


class Settings(TypedDict):
    approval_policy: NotRequired["Text"]
    cwd: NotRequired["Text"]
    edits: NotRequired["Text"]
    effort: NotRequired["Text"]
    model: NotRequired["Text"]
    sandbox_mode: NotRequired["Text"]


class Step(TypedDict):
    status: NotRequired["Text"]
    step: NotRequired["Text"]


class Submission(TypedDict):
    id: NotRequired["Text"]
    op: "Op"


class SubmitParams(TypedDict):
    id: NotRequired["Text"]
    op: "Op"
    session: "Text"

# text, or bytes that are not UTF-8
Text: TypeAlias = "Union[str, Bytes]"


class Bytes(TypedDict):
    b64: str


class ToolApproval(TypedDict):
    args: NotRequired["Text"]
    changed: NotRequired["Text"]
    server: NotRequired["Text"]
    tool: NotRequired["Text"]


class Trouble(TypedDict):
    hint: NotRequired["Text"]
    kind: "Text"
    message: "Text"


class UndoFile(TypedDict):
    note: NotRequired["Text"]
    outcome: NotRequired["Text"]
    path: NotRequired["Text"]
    removed: NotRequired[bool]


class UndoReport(TypedDict):
    diff: NotRequired["Text"]
    dry_run: NotRequired[bool]
    files: NotRequired["list[UndoFile]"]
    problem: NotRequired["Text"]
    redo: NotRequired[bool]
    what: NotRequired["Text"]


class Usage(TypedDict):
    cache_write_input_tokens: NotRequired[int]
    cached_input_tokens: NotRequired[int]
    input_tokens: NotRequired[int]
    output_tokens: NotRequired[int]
    reasoning_output_tokens: NotRequired[int]
