# Made by kerf schema --as python; do not edit.
"""A line of kerf exec --json."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union

# Readers pass over types and fields they do not know.
Event: TypeAlias = "Union[ThreadStartedEvent, TurnStartedEvent, ItemStartedEvent, ItemUpdatedEvent, ItemCompletedEvent, ErrorEvent, TurnCompletedEvent, TurnFailedEvent]"


class ThreadStartedEvent(TypedDict):
    type: Literal["thread.started"]
    thread_id: str


class TurnStartedEvent(TypedDict):
    type: Literal["turn.started"]


class ItemStartedEvent(TypedDict):
    type: Literal["item.started"]
    item: "Item"


class ItemUpdatedEvent(TypedDict):
    type: Literal["item.updated"]
    item: "Item"


class ItemCompletedEvent(TypedDict):
    type: Literal["item.completed"]
    item: "Item"


class ErrorEvent(TypedDict):
    type: Literal["error"]
    message: str


class TurnCompletedEvent(TypedDict):
    type: Literal["turn.completed"]
    undo: NotRequired["Undo"]
    usage: "Usage"


class Undo(TypedDict):
    everything: bool
    not_covered: list[str]


class Usage(TypedDict):
    cache_write_input_tokens: int
    cached_input_tokens: int
    input_tokens: int
    output_tokens: int
    reasoning_output_tokens: int


class TurnFailedEvent(TypedDict):
    type: Literal["turn.failed"]
    error: "TurnFailedEventError"
    undo: NotRequired["Undo"]


class TurnFailedEventError(TypedDict):
    message: str

Item: TypeAlias = "Union[AgentMessageItem, ReasoningItem, PlanItem, WebSearchItem, ErrorItem, CommandExecutionItem, FileChangeItem, McpToolCallItem, CollabToolCallItem, ReviewItem, TodoListItem]"


class AgentMessageItem(TypedDict):
    type: Literal["agent_message"]
    id: str
    text: str


class ReasoningItem(TypedDict):
    type: Literal["reasoning"]
    id: str
    text: str


class PlanItem(TypedDict):
    type: Literal["plan"]
    id: str
    text: str


class WebSearchItem(TypedDict):
    type: Literal["web_search"]
    id: str
    query: str


class ErrorItem(TypedDict):
    type: Literal["error"]
    id: str
    message: str


class CommandExecutionItem(TypedDict):
    type: Literal["command_execution"]
    aggregated_output: str
    check: NotRequired[bool]
    command: str
    exit_code: Union[int, None]
    id: str
    status: Literal["in_progress", "completed", "failed", "declined"]
    verdict: NotRequired[str]


class FileChangeItem(TypedDict):
    type: Literal["file_change"]
    changes: "list[Change]"
    id: str
    status: Literal["in_progress", "completed", "failed"]


class Change(TypedDict):
    certainty: NotRequired[str]
    kind: Literal["add", "delete", "update"]
    path: "Union[str, Bytes]"
    steers: NotRequired[bool]


class Bytes(TypedDict):
    """a name that is not UTF-8: its bytes in base64"""

    b64: str


class McpToolCallItem(TypedDict):
    type: Literal["mcp_tool_call"]
    arguments: Any
    error: "Union[McpToolCallItemError, None]"
    id: str
    result: "Union[Result, None]"
    server: str
    status: Literal["in_progress", "completed", "failed"]
    tool: str


class McpToolCallItemError(TypedDict):
    message: str


class Result(TypedDict):
    content: "list[Content]"
    structured_content: Any


class Content(TypedDict):
    type: str
    data: NotRequired[str]
    mimeType: NotRequired[str]
    text: NotRequired[Union[str, None]]


class CollabToolCallItem(TypedDict):
    type: Literal["collab_tool_call"]
    agents_states: "dict[str, AgentsState]"
    error: NotRequired["Union[CollabToolCallItemError, None]"]
    id: str
    prompt: Union[str, None]
    receiver_thread_ids: list[str]
    sender_thread_id: str
    status: Literal["in_progress", "completed", "failed"]
    tool: str


class AgentsState(TypedDict):
    message: Union[str, None]
    status: str


class CollabToolCallItemError(TypedDict):
    message: str


class ReviewItem(TypedDict):
    type: Literal["review"]
    findings: "list[Finding]"
    id: str
    text: str


class Finding(TypedDict):
    body: str
    confidence: float
    end: int
    path: str
    priority: int
    start: int
    title: str


class TodoListItem(TypedDict):
    type: Literal["todo_list"]
    id: str
    items: "list[TodoListItemItems]"


class TodoListItemItems(TypedDict):
    completed: bool
    text: str
