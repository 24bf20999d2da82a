package guide

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/doc"
	"kerf/internal/config"
	"kerf/internal/config/schema"
	"kerf/internal/front/tui/style"
	"kerf/internal/host"
	"kerf/internal/host/skillset"
	"kerf/internal/host/toolspecs"
	"kerf/internal/protocol"
	"kerf/internal/sessions/export"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/tries"
	"kerf/internal/work/worktrees"
)

// kind is what words may stand somewhere: their completion.
type kind func(c *completer) ([]string, cobra.ShellCompDirective)

// completer finds words for one completion. What fails gives no words: there is nobody to
// tell.
type completer struct {
	p    *program.Program
	root *cobra.Command
}

// flagKinds say what the flags of a name take, in every command. Others take what the name
// of their value says, see valueKinds.
var flagKinds = map[string]kind{
	"sandbox":          words("read-only", "workspace-write", "danger-full-access"),
	"ask-for-approval": words("untrusted", "on-request", "on-failure", "never", "auto-edit", "plan"),
	"model":            (*completer).models,
	"models":           (*completer).models,
	"profile":          (*completer).profiles,
	"worktree":         (*completer).worktrees,
	"session":          (*completer).sessions,
	"cursor":           (*completer).sessions,
	"turn":             (*completer).turns,
	"call":             (*completer).calls,
	"entry":            (*completer).entries,
	"provider":         (*completer).providers,
	"format":           words(append(export.Formats(), "html")...),
	"when":             words("edit", "turn", "keep", "commit"),
	"as":               words("python", "typescript"),
	"with":             words("systemd", "cron"),
	"color":            words("always", "never", "auto"),
	"theme":            words(style.Themes()...),
	"notify":           words("osc9", "osc777", "bell", "off"),
	"api":              words("responses", "chat", "anthropic", "gemini"),
}

// valueKinds say what flags take by the names of their values.
var valueKinds = map[string]kind{"directory": directories, "file": files, "files": files, "path": files,
	"branch": (*completer).branches, "commit": (*completer).branches, "key.path=value": (*completer).keys}

// free are the names of values that nothing can be proposed for.
var free = []string{"n", "number", "text", "time", "host", "scopes", "name", "id", "START,END",
	"address", "hash", "place", "token", "source", "variable", "command", "days", "KEY=VALUE", "Name=Value"}

// argumentKinds say what the arguments of commands are; the last one holds for all that follow.
var argumentKinds = []struct {
	path  string
	kinds []kind
}{
	{"kerf blame", []kind{files}}, {"kerf trace export", []kind{files}},
	{"kerf log", []kind{(*completer).history}}, {"kerf diff", []kind{(*completer).history}},
	{"kerf commit", []kind{(*completer).turns, nothing}}, {"kerf undo", []kind{(*completer).history}},
	{"kerf redo", []kind{files}}, {"kerf export", []kind{(*completer).sessions, nothing}},
	{"kerf attach", []kind{(*completer).sessions, nothing}},
	{"kerf serve end", []kind{(*completer).sessions, nothing}},
	{"kerf resume", []kind{(*completer).sessions, nothing}},
	{"kerf fork", []kind{(*completer).sessions, nothing}},
	{"kerf exec resume", []kind{(*completer).sessions, nothing}},
	{"kerf exec fork", []kind{(*completer).sessions, nothing}},
	{"kerf sessions show", []kind{(*completer).sessions, nothing}},
	{"kerf sessions rename", []kind{(*completer).sessions, nothing}},
	{"kerf sessions archive", []kind{(*completer).sessions}},
	{"kerf sessions unarchive", []kind{(*completer).sessions}},
	{"kerf sessions delete", []kind{(*completer).sessions}},
	{"kerf sessions export", []kind{(*completer).sessions, nothing}},
	{"kerf sessions script", []kind{(*completer).sessions, nothing}}, {"kerf sessions import", []kind{files}},
	{"kerf verify", []kind{(*completer).sessions, nothing}},
	{"kerf replay", []kind{(*completer).sessions, nothing}},
	{"kerf apply", []kind{(*completer).sessions, nothing}},
	{"kerf skills show", []kind{(*completer).skills, nothing}},
	{"kerf skills add", []kind{directories, nothing}}, {"kerf skills validate", []kind{directories}},
	{"kerf plugin add", []kind{directories, nothing}},
	{"kerf plugin remove", []kind{(*completer).plugins, nothing}},
	{"kerf plugin update", []kind{(*completer).plugins}},
	{"kerf mcp get", []kind{(*completer).servers, nothing}},
	{"kerf mcp remove", []kind{(*completer).servers, nothing}},
	{"kerf mcp login", []kind{(*completer).servers, nothing}},
	{"kerf mcp logout", []kind{(*completer).servers, nothing}},
	{"kerf login", []kind{(*completer).providers, nothing}},
	{"kerf logout", []kind{(*completer).providers, nothing}}, {"kerf script check", []kind{files}},
	{"kerf script serve", []kind{files, nothing}}, {"kerf rules check", []kind{files}},
	{"kerf adopt", []kind{directories, nothing}}, {"kerf help", []kind{(*completer).topics}},
	{"kerf man", []kind{(*completer).commands}},
	{"kerf schema", []kind{words("events", "config", "rollout", "tools"), nothing}},
	{"kerf keep", []kind{(*completer).tries, files}}, {"kerf tries diff", []kind{(*completer).tries, files}},
	{"kerf discard", []kind{(*completer).numbers, nothing}}, {"kerf tool", []kind{(*completer).tools, nothing}},
	{"kerf rules remove", []kind{(*completer).rules, nothing}},
	{"kerf worktree diff", []kind{(*completer).worktrees, nothing}},
	{"kerf worktree merge", []kind{(*completer).worktrees, nothing}},
	{"kerf worktree path", []kind{(*completer).worktrees, nothing}},
	{"kerf worktree remove", []kind{(*completer).worktrees, nothing}}, {"kerf guard", []kind{files}},
	{"kerf sandbox", []kind{files}},
}

// argumentsOf are the kinds of the arguments of the command with this path.
func argumentsOf(path string) []kind {
	for _, a := range argumentKinds {
		if a.path == path {
			return a.kinds
		}
	}
	return nil
}

// Complete gives every command and every flag that takes a value its completion, if args ask
// for one.
func Complete(p *program.Program, root *cobra.Command, args []string) {
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return
	}
	c := &completer{p, root}
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.ValidArgsFunction = c.argument
	}
	each(root, func(cmd *cobra.Command) {
		if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil && !strings.HasPrefix(cmd.CommandPath(), "kerf completion") {
			cmd.ValidArgsFunction = c.argument
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if k := kindOf(f); k != nil {
					_ = cmd.RegisterFlagCompletionFunc(f.Name, c.with(k)) // only fails when there is one already
				}
			})
		}
	})
}

// kindOf is what a flag takes; nil for one that takes no value.
func kindOf(f *pflag.Flag) kind {
	if f.NoOptDefVal != "" {
		return nil
	}
	if k, ok := flagKinds[f.Name]; ok {
		return k
	}
	value, _ := pflag.UnquoteUsage(f)
	if k, ok := valueKinds[value]; ok {
		return k
	}
	return nothing
}

func (c *completer) with(k kind) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return k(c) }
}

// argument completes an argument of a command.
func (c *completer) argument(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	kinds := argumentsOf(cmd.CommandPath())
	if len(kinds) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return kinds[min(len(args), len(kinds)-1)](c)
}

func words(list ...string) kind {
	return func(*completer) ([]string, cobra.ShellCompDirective) { return list, cobra.ShellCompDirectiveNoFileComp }
}

func nothing(*completer) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func files(*completer) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func directories(*completer) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// described is a word with what is shown beside it.
func described(word, about string) string {
	about = visible.Line(about)
	if r := []rune(about); len(r) > 60 {
		about = string(r[:59]) + "…"
	}
	return word + "\t" + about
}

func (c *completer) host() *host.Host {
	quiet := *c.p
	quiet.Stderr = discard{}
	h, err := quiet.Tolerant()
	if err != nil {
		return nil
	}
	return h
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (c *completer) sessions() (list []string, d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	h := c.host()
	if h == nil {
		return nil, d
	}
	infos, _ := h.Sessions().List(context.Background(), protocol.Filter{Limit: 50})
	for _, i := range infos {
		list = append(list, described(string(i.ID), i.Title))
	}
	return list, d
}

// rows are the entries of the workspace here, newest first.
func (c *completer) rows() []row.Entry {
	h := c.host()
	if h == nil {
		return nil
	}
	list, _ := records.ReadLog(h, changes.Filter{Limit: 100})
	return list
}

func (c *completer) ids(of func(row.Entry) string) (list []string, d cobra.ShellCompDirective) {
	seen := map[string]bool{"": true}
	for _, e := range c.rows() {
		if id := of(e); !seen[id] {
			seen[id] = true
			list = append(list, described(id, e.Prompt))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (c *completer) turns() ([]string, cobra.ShellCompDirective) {
	return c.ids(func(e row.Entry) string { return e.Turn })
}

func (c *completer) calls() ([]string, cobra.ShellCompDirective) {
	return c.ids(func(e row.Entry) string { return e.Call })
}

func (c *completer) entries() ([]string, cobra.ShellCompDirective) {
	return c.ids(func(e row.Entry) string { return fmt.Sprint(e.Seq) })
}

// history is what log shows, and files.
func (c *completer) history() ([]string, cobra.ShellCompDirective) {
	list, _ := c.turns()
	return list, cobra.ShellCompDirectiveDefault
}

// worktrees are the work trees of the repository here.
func (c *completer) worktrees() ([]string, cobra.ShellCompDirective) {
	var out []string
	if h := c.host(); h != nil {
		list, _ := worktrees.List(h.Config.Home, h.Config.Cwd)
		for _, t := range list {
			out = append(out, t.Name+"\t"+visible.OneLine(t.Meta.Request, 40))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// tries are the numbers of the tries of this directory, and files.
func (c *completer) tries() (list []string, d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveDefault
	h := c.host()
	if h == nil {
		return nil, d
	}
	here, _ := tries.Here(h.Config.Home, h.Config.Cwd)
	for _, t := range here {
		list = append(list, cobra.CompletionWithDesc(fmt.Sprint(t.ID), visible.OneLine(t.Meta.Request, 60)))
	}
	return list, d
}

// numbers are those of the tries of this directory.
func (c *completer) numbers() ([]string, cobra.ShellCompDirective) {
	list, _ := c.tries()
	return list, cobra.ShellCompDirectiveNoFileComp
}

// branches are those of the repository here.
func (c *completer) branches() ([]string, cobra.ShellCompDirective) {
	h := c.host()
	if h == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return worktrees.Branches(h.Config.Cwd), cobra.ShellCompDirectiveNoFileComp
}

// keys are those of the configuration, but for parts of them that the user names.
func (c *completer) keys() (list []string, d cobra.ShellCompDirective) {
	for _, key := range schema.Keys(reflect.TypeFor[config.Config]()) {
		if !strings.Contains(key, "*") {
			list = append(list, key+"=")
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// rules are the user's own rules about commands.
func (c *completer) rules() (list []string, d cobra.ShellCompDirective) {
	if h := c.host(); h != nil {
		all, _ := h.Rules()
		for _, r := range all {
			list = append(list, described(r.At(), r.String()))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// tools are those that a model can call.
func (c *completer) tools() (list []string, d cobra.ShellCompDirective) {
	return toolspecs.Names(), cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) models() (list []string, d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveNoFileComp
	h := c.host()
	if h == nil {
		return nil, d
	}
	known, _ := h.Providers().Models(context.Background(), "", false)
	for _, m := range known {
		list = append(list, m.Name)
	}
	slices.Sort(list)
	return slices.Compact(list), d
}

func (c *completer) profiles() ([]string, cobra.ShellCompDirective) {
	return c.p.Profiles(), cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) providers() ([]string, cobra.ShellCompDirective) {
	if h := c.host(); h != nil {
		return h.Providers().Names(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) servers() ([]string, cobra.ShellCompDirective) {
	if h := c.host(); h != nil {
		return slices.Sorted(maps.Keys(h.Config.MCPServers)), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) skills() (list []string, d cobra.ShellCompDirective) {
	if h := c.host(); h != nil {
		for _, s := range (skillset.Set{Config: h.Config, Home: h.Getenv("HOME")}).Skills() {
			list = append(list, described(s.Name, s.Description))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) plugins() (list []string, d cobra.ShellCompDirective) {
	if h := c.host(); h != nil {
		for _, f := range h.Config.Plugins {
			if f.Hash != "" {
				list = append(list, described(f.Name, f.Plugin.Description))
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) commands() (list []string, d cobra.ShellCompDirective) {
	for _, cmd := range c.root.Commands() {
		if cmd.IsAvailableCommand() {
			list = append(list, described(cmd.Name(), cmd.Short))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (c *completer) topics() ([]string, cobra.ShellCompDirective) {
	list, d := c.commands()
	for _, name := range doc.Names() {
		list = append(list, described(name, doc.Title(name)))
	}
	return append(list, "topics"), d
}
