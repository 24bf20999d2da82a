package habits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config/plugins"
	"kerf/internal/host"
	"kerf/internal/host/plugging"
	"kerf/internal/text/visible"
)

const pluginAbout = `Adds plugins: skills, commands, agents, MCP servers and hooks that somebody packed together.

  kerf plugin add ./tools                    the plugin in a directory
  kerf plugin add acme/tools                 the plugin in a repository of GitHub
  kerf plugin add acme/market                the plugins that a marketplace offers
  kerf plugin add acme/market formatter      one of them
  kerf plugin update                         fetch all plugins again

Kerf shows what a plugin may run and asks. You agree to its content: when another one is fetched,
Kerf asks again, and uses the old one until you agree. Nothing of a plugin runs before.
kerf help plugins says more.`

func pluginCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Add, list, update and remove plugins", Long: pluginAbout,
		Args: program.AtMost(0), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(pluginAdd(p), pluginList(p), pluginUpdate(p), pluginRemove(p))
	return cmd
}

func managerOf(p *program.Program, h *host.Host, agree consent) *plugging.Manager {
	return &plugging.Manager{Home: h.Config.Home, User: h.Getenv("HOME"), Cwd: h.Config.Cwd, Env: p.Env,
		Outside: h.Config.Workspaces(h.Config.Cwd),
		Contact: func(plugin, address string) error { return contact(p, plugin, address, agree) }}
}

// consent is how the user agrees.
type consent struct {
	yes  bool
	hash string
	from string
}

func (c *consent) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "agree without being asked")
	cmd.Flags().StringVar(&c.hash, "hash", "", "agree to the content with this `hash` and to no other")
	cmd.Flags().StringVar(&c.from, "from", "", "contact this `address`, if the marketplace names it")
}

// contact asks whether an address that a marketplace names may be contacted.
func contact(p *program.Program, plugin, address string, agree consent) error {
	shown := visible.Plain(address)
	switch {
	case agree.yes || agree.from == address:
		return nil
	case !p.OnTerminal():
		return fmt.Errorf("plugin %s of the marketplace lies at %s; nothing was fetched from there; "+
			"to do that, add --from '%s'", plugin, shown, shown)
	}
	if !p.Agrees(p.Stdout, "Plugin %s of the marketplace lies at %s. Contact that address?", plugin, shown) {
		return errors.New("nothing was fetched from there")
	}
	return nil
}

func pluginAdd(p *program.Program) *cobra.Command {
	var r plugging.Request
	var agree consent
	cmd := &cobra.Command{Use: "add SOURCE [PLUGIN]", Args: program.Between(1, 2),
		Short: "Add a plugin from a directory, a repository or a marketplace",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if r.Source = args[0]; len(args) > 1 {
				r.Name = args[1]
			}
			proposal, err := managerOf(p, h, agree).Propose(cmd.Context(), r)
			var offer *plugging.Offer
			if errors.As(err, &offer) {
				return showOffer(p, args[0], offer)
			}
			if err != nil {
				return err
			}
			return decide(p, h, proposal, agree)
		}}
	agree.flags(cmd)
	cmd.Flags().StringVar(&r.Path, "path", "", "the `place` of the plugin below the source")
	cmd.Flags().StringVar(&r.Ref, "ref", "", "the `branch` or tag to fetch")
	cmd.Flags().StringVar(&r.Commit, "commit", "", "the `commit` to fetch, by its whole name")
	cmd.Flags().BoolVar(&r.Projects, "in-projects", false, "use it only in trusted projects whose files name it")
	return cmd
}

// showOffer shows what a marketplace has. Nothing was added, which is not what was asked for.
func showOffer(p *program.Program, source string, o *plugging.Offer) error {
	fmt.Fprintf(p.Stdout, "marketplace %s offers\n", visible.Plain(o.Marketplace))
	for _, e := range o.Plugins {
		about := visible.OneLine(e.About, 100)
		if e.Why != "" {
			about = "(cannot be added: " + visible.Plain(e.Why) + ")"
		}
		fmt.Fprintf(p.Stdout, "  %-30s %s\n", visible.Plain(e.Name), about)
	}
	return fmt.Errorf("name the plugin to add: kerf plugin add %s PLUGIN", visible.Plain(source))
}

// decide shows what was fetched, asks, and keeps it or drops it.
func decide(p *program.Program, h *host.Host, r *plugging.Proposal, agree consent) error {
	if agree.hash != "" && strings.TrimPrefix(agree.hash, "sha256:") != r.Hash {
		r.Drop()
		return fmt.Errorf("the content of %s has the hash %s, not the one that was named; nothing was changed", r.Name,
			r.Hash)
	}
	showProposal(p, h, r)
	switch {
	case agree.yes || agree.hash != "" || r.Same():
	case !p.OnTerminal():
		r.Drop()
		return fmt.Errorf("nothing was changed; to agree to this content, add --hash %s", r.Hash)
	default:
		if !p.Agrees(p.Stdout, "Use this plugin?") {
			r.Drop()
			return errors.New("nothing was changed")
		}
	}
	if err := r.Keep(); err != nil {
		return err
	}
	switch {
	case r.Was == nil:
		fmt.Fprintf(p.Stdout, "added %s\n", r.Name)
	case r.Same():
		fmt.Fprintf(p.Stdout, "%s is up to date\n", r.Name)
	default:
		fmt.Fprintf(p.Stdout, "updated %s\n", r.Name)
	}
	return nil
}

// showProposal shows all that a plugin may run and brings. Of one that replaces another,
// what is new has a plus, and what is gone a minus.
func showProposal(p *program.Program, h *host.Host, r *plugging.Proposal) {
	if r.Same() {
		return
	}
	line := func(format string, args ...any) { fmt.Fprintln(p.Stdout, visible.Plain(fmt.Sprintf(format, args...))) }
	line("plugin %s %s (%s)", r.Name, r.Plugin.Version, r.Plugin.Form)
	if r.Plugin.Description != "" {
		line("  %s", visible.OneLine(r.Plugin.Description, 200))
	}
	line("  from %s", plugging.Origin(r.Installed))
	if r.Commit != "" {
		line("  commit %s", r.Commit)
	}
	line("  content %s", r.Hash)
	now := plugging.Tell(r.Plugin, h.Getenv)
	var was plugging.Told
	if r.Was != nil && r.Was.Why == "" {
		was = plugging.Tell(r.Was.Plugin, h.Getenv)
	}
	part := func(title, none string, now, was []string) {
		line("  %s", title)
		if len(now)+len(was) == 0 {
			line("      %s", none)
		}
		for _, text := range now {
			mark := " "
			if r.Was != nil && !slices.Contains(was, text) {
				mark = "+"
			}
			line("    %s %s", mark, text)
		}
		for _, text := range was {
			if !slices.Contains(now, text) {
				line("    - %s", text)
			}
		}
	}
	part("runs", "nothing", now.Runs, was.Runs)
	part("brings", "nothing", now.Brings, was.Brings)
	if len(now.Programs) > 0 {
		part("files that can be run, by hooks and servers above, or by commands that the policy allows", "", now.Programs,
			was.Programs)
	}
	if len(now.Left) > 0 {
		part("not used", "", now.Left, was.Left)
	}
}

// pluginJSON is a plugin for programs.
type pluginJSON struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Form        string   `json:"form,omitempty"`
	Description string   `json:"description,omitempty"`
	Source      string   `json:"source,omitempty"`
	Ref         string   `json:"ref,omitempty"`
	Commit      string   `json:"commit,omitempty"`
	Hash        string   `json:"hash,omitempty"`
	InProjects  bool     `json:"in_projects,omitempty"`
	Runs        []string `json:"runs,omitempty"`
	Brings      []string `json:"brings,omitempty"`
	Left        []string `json:"left,omitempty"`
	NotUsed     string   `json:"not_used,omitempty"`
}

func pluginList(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the plugins, and why one is not used", Args: program.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			list := []pluginJSON{}
			for _, f := range h.Config.Plugins {
				list = append(list, toldOf(h, f))
			}
			if asJSON {
				return print.JSON(p.Stdout, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(p.Stdout, "there are no plugins; kerf plugin add SOURCE adds one")
			}
			for _, l := range list {
				state := visible.OneLine(l.Description, 100)
				if l.NotUsed != "" {
					state = "(not used: " + visible.Plain(l.NotUsed) + ")"
				}
				pin := l.Hash[:min(12, len(l.Hash))]
				if l.Commit != "" {
					pin = l.Commit[:12]
				}
				fmt.Fprintf(p.Stdout, "%-24s %-10s %-12s %s\n", visible.Plain(l.Name), visible.OneLine(l.Version, 10), pin, state)
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func toldOf(h *host.Host, f plugins.Found) pluginJSON {
	out := pluginJSON{Name: f.Name, Version: f.Plugin.Version, Form: f.Plugin.Form, Description: f.Plugin.Description,
		Ref: f.Ref, Commit: f.Commit, Hash: f.Hash, InProjects: f.Projects, NotUsed: f.Why}
	if f.Hash != "" {
		out.Source = plugging.Origin(f.Installed)
	}
	if f.Plugin.Dir != "" {
		told := plugging.Tell(f.Plugin, h.Getenv)
		out.Runs, out.Brings, out.Left = told.Runs, told.Brings, told.Left
	}
	return out
}

func pluginUpdate(p *program.Program) *cobra.Command {
	var agree consent
	cmd := &cobra.Command{Use: "update [PLUGIN...]", Short: "Fetch plugins again, and ask about those that changed",
		Args: program.Between(0, 100),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return runUpdate(cmd.Context(), p, h, args, agree)
		}}
	agree.flags(cmd)
	return cmd
}

// runUpdate updates all that can be; what fails is told, and the others go on.
func runUpdate(ctx context.Context, p *program.Program, h *host.Host, names []string, agree consent) error {
	all, err := plugins.List(h.Config.Home)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(o plugins.Installed) bool { return o.Name == name }) {
			return fmt.Errorf("there is no plugin %q; kerf plugin list shows them", name)
		}
	}
	m, failed := managerOf(p, h, agree), false
	for _, installed := range all {
		if len(names) > 0 && !slices.Contains(names, installed.Name) {
			continue
		}
		next, err := m.Update(ctx, installed)
		if err == nil {
			err = decide(p, h, next, agree)
		}
		if err != nil {
			fmt.Fprintf(p.Stderr, "kerf: %s: %s\n", installed.Name, visible.Plain(err.Error()))
			failed = true
		}
	}
	if failed {
		return program.Exit(1)
	}
	return nil
}

func pluginRemove(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "remove PLUGIN", Short: "Remove a plugin, with what it kept of its own",
		Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			was, err := managerOf(p, h, consent{}).Remove(args[0])
			if err != nil {
				return err
			}
			if !was {
				return fmt.Errorf("there is no plugin %q; kerf plugin list shows them", args[0])
			}
			fmt.Fprintf(p.Stdout, "removed %s\n", args[0])
			return nil
		}}
}
