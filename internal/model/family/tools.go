package family

// Tools are what models are offered. What they are not offered stays accepted: every tool
// answers to all of its names, with all of its parameters.
type Tools struct {
	// Names are what tools are called, where it is not by their own names.
	Names map[string]string
	// Instead names, for a tool that is left out, the one that does its work. Where that is
	// not offered, the tool is.
	Instead map[string]string
	// Only, if not nil, are the tools that are offered, beside those of MCP servers.
	Only []string
	// Fields are the parameters that are offered, of the tools that are here.
	Fields map[string][]string
	// Versions has results name versions, which calls may be bound to.
	Versions bool
}

// Unknown is for models of which nothing is known: all tools, and results that tell
// versions.
var Unknown = Family{Name: "generic", Tools: Tools{Versions: true, Fields: fieldsWith(map[string][]string{
	"read_file":  {"file_path", "offset", "limit", "encoding"},
	"edit_file":  {"file_path", "old_string", "new_string", "replace_all", "expectedHash"},
	"write_file": {"file_path", "content", "expectedHash"},
})}}

// Small is for models that hold SmallWindow tokens or less, whatever their family: five
// tools, few words, and files are written whole where that is easier.
var Small = Family{Name: "small", Few: true, Tools: Tools{
	Only: []string{"read_file", "write_file", "edit_file", "exec_command", "write_stdin"},
	Fields: fieldsWith(map[string][]string{
		"exec_command": {"cmd", "workdir"},
		"write_stdin":  {"session_id", "chars"},
	})}}

// SmallWindow is the size of a context, in tokens, up to which a model gets few tools and
// few words.
const SmallWindow = 32_768

// Way is how files are changed: tools that are left out for others, and what is said of it.
type Way struct {
	Instead map[string]string
	Words   string
}

// Editing returns how models change files that are best at a tool.
func Editing(best EditTool) Way {
	if best == Replacements {
		return Way{map[string]string{"apply_patch": "edit_file"},
			"\nUse edit_file for changes of a file that is there, with the old text quoted exactly, and write_file for new " +
				"files and whole rewrites.\n"}
	}
	return Way{map[string]string{"edit_file": "apply_patch", "write_file": "apply_patch"},
		"\nFiles are changed, made and removed with apply_patch.\n"}
}

// lean are the parameters that models need of a tool. The others are for programs, and for
// models that were told of them.
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
