package profile

// lean are the parameters that models need of a tool. The others stay accepted: they are
// for programs, and for models that were told of them.
var lean = map[string][]string{
	"read_file":    {"file_path", "offset", "limit"},
	"edit_file":    {"file_path", "old_string", "new_string", "replace_all"},
	"write_file":   {"file_path", "content"},
	"apply_patch":  {"input"},
	"exec_command": {"cmd", "workdir", "tty", "yield_time_ms", "max_output_tokens", "sandbox_permissions", "justification"},
	"write_stdin":  {"session_id", "chars", "yield_time_ms"},
	"list_dir":     {"path", "depth"},
	"grep":         {"pattern", "path", "glob", "ignore_case", "context"},
	"update_plan":  {"plan"},
	"spawn_agent":  {"message", "agent_type", "isolation"},
	"wait":         {"targets", "timeout_ms"},
	"undo":         {"turn", "call", "redo"},
}

// searching are the tools that a command does as well.
var searching = map[string]string{"list_dir": "exec_command", "glob": "exec_command", "grep": "exec_command"}

// generic is for models of which nothing is known.
var generic = Profile{Family: "generic", versions: true, fields: fieldsWith(map[string][]string{
	"read_file":  {"file_path", "offset", "limit", "encoding"},
	"edit_file":  {"file_path", "old_string", "new_string", "replace_all", "expectedHash"},
	"write_file": {"file_path", "content", "expectedHash"},
})}

// small is for models that hold little, whatever their family: five tools, and files are
// written whole where that is easier.
var small = Profile{Family: "small", small: true,
	only: []string{"read_file", "write_file", "edit_file", "exec_command", "write_stdin"},
	fields: fieldsWith(map[string][]string{
		"exec_command": {"cmd", "workdir"},
		"write_stdin":  {"session_id", "chars"},
	})}

// families are looked at in their order.
var families = []Profile{
	// GPT models were taught to read and to search with commands.
	{Family: "gpt", models: []string{"gpt-", "o1", "o3", "o4", "codex", "chatgpt"}, fields: lean, searches: true,
		words: "Search with commands, such as rg, and read with read_file what you are about to change.\n"},
	{Family: "claude", models: []string{"claude"}, fields: lean,
		names: map[string]string{"read_file": "read", "edit_file": "edit", "write_file": "write"}},
	{Family: "gemini", models: []string{"gemini", "gemma"}, fields: lean,
		words: "Do what was asked and no more: no tidying up around it, no comments that explain the change.\n"},
	{Family: "qwen", models: []string{"qwen", "qwq"}, fields: lean},
	{Family: "kimi", models: []string{"kimi", "moonshot"}, fields: lean},
	{Family: "glm", models: []string{"glm", "chatglm"}, fields: lean},
	{Family: "deepseek", models: []string{"deepseek"}, fields: lean},
	{Family: "other", models: []string{"grok", "minimax", "mistral", "devstral", "codestral", "llama", "granite"},
		fields: lean},
}

// A way is how files are changed.
type way struct {
	instead map[string]string
	words   string
}

var (
	patching = way{map[string]string{"edit_file": "apply_patch", "write_file": "apply_patch"},
		"\nFiles are changed, made and removed with apply_patch.\n"}
	quoting = way{map[string]string{"apply_patch": "edit_file"},
		"\nUse edit_file for changes of a file that is there, with the old text quoted exactly, and write_file for new files " +
			"and whole rewrites.\n"}
)

// fieldsWith is lean with other fields for some tools.
func fieldsWith(more map[string][]string) map[string][]string {
	fields := map[string][]string{}
	for name, f := range lean {
		fields[name] = f
	}
	for name, f := range more {
		fields[name] = f
	}
	return fields
}
