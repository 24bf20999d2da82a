package habits

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/host/skillset"
	"kerf/internal/text/visible"
)

const skillsAbout = `Shows the skills that hold here, and adds and checks them.

  kerf skills list                 all skills that are there, and why one is not used
  kerf skills show release         what a skill says, and its files
  kerf skills add ./release        copy a folder with a SKILL.md to your own skills
  kerf skills validate ./release   hold it against the Agent Skills standard

kerf help context says where skills are found.`

func skillsCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "skills", Short: "Show, add and check skills", Long: skillsAbout, Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(skillsList(p), skillsShow(p), skillsAdd(p), skillsValidate(p))
	return cmd
}

func skillsOf(h *host.Host) skillset.Set {
	return skillset.Set{Config: h.Config, Home: h.Getenv("HOME")}
}

// skillJSON is a skill for programs.
type skillJSON struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Folder      string `json:"folder"`
	NotUsed     string `json:"not_used,omitempty"`
}

func skillsList(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the skills, and why one is not used", Args: program.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			set := skillsOf(h)
			list := []skillJSON{}
			for _, f := range set.Found() {
				list = append(list, skillJSON{f.Name, f.Description, f.Dir, set.Why(f)})
			}
			if asJSON {
				return print.JSON(p.Stdout, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(p.Stdout, "there are no skills; kerf skills add FOLDER adds one")
			}
			for _, s := range list {
				state := visible.OneLine(s.Description, 100)
				if s.NotUsed != "" {
					state = "(not used: " + visible.Plain(s.NotUsed) + ")"
				}
				fmt.Fprintf(p.Stdout, "%-20s %-30s %s\n", visible.Plain(s.Name), visible.Plain(set.Short(s.Folder)), state)
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func skillsShow(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "show NAME", Short: "Show what a skill says, and its files", Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			set := skillsOf(h)
			for _, s := range set.Skills() {
				if s.Name != args[0] {
					continue
				}
				fmt.Fprintf(p.Stdout, "%s\n%s\n\n%s\n\n", visible.Plain(set.Short(s.Dir)), visible.Plain(s.Description),
					visible.String(s.Body))
				dir, err := s.Open()
				if err != nil {
					return err
				}
				defer dir.Close()
				return fs.WalkDir(dir.FS(), ".", func(path string, e fs.DirEntry, err error) error {
					if err == nil && !e.IsDir() {
						fmt.Fprintf(p.Stdout, "  %s\n", visible.Plain(path))
					}
					return nil
				})
			}
			for _, f := range set.Found() {
				if f.Name == args[0] {
					return fmt.Errorf("skill %s is not used: %s", args[0], set.Why(f))
				}
			}
			return fmt.Errorf("there is no skill %q; kerf skills list shows them", args[0])
		}}
}

func skillsAdd(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "add FOLDER", Short: "Copy a folder with a SKILL.md to your own skills",
		Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			from, err := folder(h, args[0])
			if err != nil {
				return err
			}
			to, err := skillset.Add(from, filepath.Join(h.Config.Home, "skills"))
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "added %s\n", to)
			return nil
		}}
}

// folder is the folder that an argument names: itself, or that of the SKILL.md.
func folder(h *host.Host, arg string) (string, error) {
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.Config.Cwd, path)
	}
	if filepath.Base(path) == "SKILL.md" {
		path = filepath.Dir(path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", program.Misuse("%s is no folder of a skill", arg)
	}
	return path, nil
}

func skillsValidate(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "validate FOLDER...", Short: "Hold skills against the Agent Skills standard",
		Args: program.Between(1, 1000),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			wrong := false
			for _, arg := range args {
				dir, err := folder(h, arg)
				if err != nil {
					return err
				}
				remarks := skillset.Validate(dir)
				for _, r := range remarks {
					state := "warn"
					if r.Grave {
						state, wrong = "fail", true
					}
					fmt.Fprintf(p.Stdout, "%s  %s: %s\n", state, visible.Plain(strings.TrimSuffix(arg, "/")), visible.Plain(r.Text))
				}
				if len(remarks) == 0 {
					fmt.Fprintf(p.Stdout, "ok    %s\n", visible.Plain(strings.TrimSuffix(arg, "/")))
				}
			}
			if wrong {
				return program.Exit(1)
			}
			return nil
		}}
}
