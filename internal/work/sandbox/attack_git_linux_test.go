package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
)

// evil is a program that leaves a trace when it runs.
const evil = `printf '#!/bin/sh\ntouch $OUT/ran\n' > evil; chmod +x evil; `

// gitAttack is a way to have git run a program of a command's own later, when the user
// works outside the sandbox.
type gitAttack struct{ name, before, script, trigger string }

// gitAttacks, each in a new repository with one commit. before is what the user did, and
// trigger what the user does afterwards.
var gitAttacks = []gitAttack{
	{"hooksPath", "mkdir -p tools/hooks; git config core.hooksPath tools/hooks", evil + "cp evil tools/hooks/pre-commit", commit},
	{"hooksPath absent", "mkdir tools; git config core.hooksPath tools/hooks", evil + "mkdir tools/hooks; cp evil tools/hooks/pre-commit", commit},
	{"hooksPath absent with parents", "git config core.hooksPath a/b/hooks", evil + "mkdir -p a/b/hooks; cp evil a/b/hooks/pre-commit", commit},
	{"hooksPath, parent renamed", "mkdir -p tools/hooks; git config core.hooksPath tools/hooks",
		evil + "mv tools old; mkdir -p tools/hooks; cp evil tools/hooks/pre-commit", commit},
	{"hooksPath is a link", "mkdir real; ln -s real hk; git config core.hooksPath hk", evil + "cp evil real/pre-commit", commit},
	{"hooksPath is the root", "git config core.hooksPath $PWD", evil + "cp evil pre-commit", commit},
	{"hooksPath, existing hook", "mkdir h; echo '#!/bin/sh' > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath h",
		evil + "cat evil > h/pre-commit", commit},
	{"hooksPath, hard link", "mkdir h; echo '#!/bin/sh' > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath h; ln h/pre-commit also",
		evil + "cat evil > also", commit},
	{"husky", "mkdir -p .husky/_; printf '#!/bin/sh\n. \"$(dirname $0)/../pre-commit\"\n' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit; " +
		"git config core.hooksPath .husky/_", evil + "cp evil .husky/pre-commit", commit},
	{"hooksPath of the user", "mkdir hk; git config --global core.hooksPath hk", evil + "cp evil hk/pre-commit", commit},
	{"include", "echo > shared.cfg; git config include.path ../shared.cfg",
		evil + "printf '[core]\nfsmonitor=./evil\n' > shared.cfg", "git status"},
	{"include absent", "git config include.path ../shared.cfg", evil + "printf '[core]\nfsmonitor=./evil\n' > shared.cfg", "git status"},
	{"include within an include", "echo '[include]' > a.cfg; echo 'path=b.cfg' >> a.cfg; echo > b.cfg; git config include.path ../a.cfg",
		evil + "printf '[core]\nfsmonitor=./evil\n' > b.cfg", "git status"},
	{"includeIf", "echo > shared.cfg; git config includeIf.gitdir:/.path ../shared.cfg",
		evil + "printf '[core]\nfsmonitor=./evil\n' > shared.cfg", "git status"},
	{"filter", "mkdir t; echo cat > t/clean; chmod +x t/clean; git config filter.x.clean t/clean; echo '* filter=x' > .gitattributes",
		evil + "cat evil > t/clean; echo new > f", "git add f"},
	{"alias", "mkdir t; echo : > t/a.sh; git config alias.go '!sh t/a.sh'", evil + "cat evil > t/a.sh", "git go"},
	{"fsmonitor", "mkdir t; cp /bin/true t/m; git config core.fsmonitor t/m", evil + "rm t/m; cp evil t/m", "git status"},
	{"nested repository after 600 directories", nested, evil + "for i in $(seq 600); do mkdir -p aa$i/b/c; done; cp evil libs/repo/.git/hooks/pre-commit", inNested},
	{"nested repository, renamed to node_modules", nested, evil + "mv libs node_modules; cp evil node_modules/repo/.git/hooks/pre-commit; mv node_modules libs", inNested},
	{"nested repository moved deep", nested, evil + "mkdir -p a/b/c/d/e/f; mv libs/repo a/b/c/d/e/f/; cp evil a/b/c/d/e/f/repo/.git/hooks/pre-commit; mv a/b/c/d/e/f/repo libs/", inNested},
	{"nested repository copied over", nested, evil + "cp -r libs l2; cp evil l2/repo/.git/hooks/pre-commit; rm -rf libs; cp -rT l2 libs", inNested},
	{"nested repository, .git renamed", nested, evil + "cd libs/repo; cp -r .git g; cp ../../evil g/hooks/pre-commit; mv .git old; mv g .git", inNested},
	{"nested repository, parent of its parent renamed", "mkdir -p x/libs; cd x; " + nested + "; cd ..",
		evil + "cp -r x y; cp evil y/libs/repo/.git/hooks/pre-commit; mv x z; mv y x", "cd x; " + inNested},
	{"nested repository, hard link", nested + "; echo '#!/bin/sh' > libs/repo/.git/hooks/pre-commit; chmod +x libs/repo/.git/hooks/pre-commit; ln libs/repo/.git/hooks/pre-commit also",
		evil + "cat evil > also", inNested},
	{"nested repository, bind mount", nested, evil + "mkdir m; mount --bind libs/repo/.git/hooks m && cp evil m/pre-commit", inNested},
	{"nested repository, overlay", nested, evil + "mkdir u w; mount -t overlay o -olowerdir=libs,upperdir=u,workdir=w libs && cp evil libs/repo/.git/hooks/pre-commit", ""},
}

const (
	commit   = "git commit -q --allow-empty -m x"
	nested   = "mkdir -p libs; git init -q libs/repo; mkdir -p libs/repo/.git/hooks"
	inNested = "cd libs/repo; " + commit
)

// TestSEC_F6_WhatSettingsNameIsNotWritten: after a command, the user's git runs nothing
// that the command wrote, and the same deeds without the sandbox have it run.
func TestSEC_F6_WhatSettingsNameIsNotWritten(t *testing.T) {
	one(t, func(t *testing.T) {
		for _, a := range gitAttacks {
			t.Run(a.name, func(t *testing.T) {
				ran := func(run func(*site, string) (string, int)) (bool, string) {
					s := newSite(t)
					t.Setenv("OUT", s.out)
					s.policy.Home = s.home
					s.policy.Session = boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(string) boundary.Policy { return s.policy })
					if text, code := s.outside("git init -q . && git commit -q --allow-empty -m one && " + a.before); code != 0 {
						t.Fatal(text)
					}
					text, _ := run(s, a.script)
					after, _ := s.outside(a.trigger)
					_, err := os.Lstat(filepath.Join(s.out, "ran"))
					return err == nil, text + after
				}
				if bad, text := ran((*site).inside); bad {
					t.Errorf("what the command wrote ran: %s", text)
				}
				if strings.Contains(a.script, "mount ") {
					return // its control needs a machine of its own
				}
				if ok, text := ran((*site).outside); !ok {
					t.Errorf("control: nothing ran either: %s", text)
				}
			})
		}
	})
}

// TestWhatAppearsIsTold: what a command leaves for others to follow, and that nothing can
// keep it from making, is told once.
func TestWhatAppearsIsTold(t *testing.T) {
	const history = "git init -q . && git commit -q --allow-empty -m one && echo a > a && git add a && git commit -qm two"
	one(t, func(t *testing.T) {
		for name, c := range map[string]struct{ before, script, path, told string }{
			"a repository":       {"", "git init -q sub/new", "sub/new/.git", "a repository that was made"},
			"a bare repository":  {"", "git init -q --bare bare", "bare", "a repository that was made"},
			"settings of Kerf":   {"mkdir sub", "mkdir -p sub/.kerf; echo x > sub/.kerf/config.toml", "sub/.kerf", "Kerf would take"},
			"a step of a rebase": {history, "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i -x false HEAD~1", ".git/rebase-merge/git-rebase-todo", `git runs "false"`},
			"a program of the settings": {"git init -q . && mkdir t && git config alias.x '!t/x'", "echo : > t/x", "t/x",
				"git runs or reads it"},
			"hooks with their parents": {"git init -q . && git config core.hooksPath a/b", "mkdir -p a/b; echo : > a/b/pre-commit", "a/b", "it is now b.planted-"},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.policy.Session = boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(string) boundary.Policy { return s.policy })
				if text, code := s.outside(c.before); code != 0 {
					t.Fatal(text)
				}
				s.inside("true")
				for _, f := range s.found {
					t.Errorf("nothing was done, and told is %+v", f)
				}
				text, _ := s.inside(c.script)
				told := false
				for _, f := range s.found {
					told = told || f.Path == filepath.Join(s.work, c.path) && strings.Contains(f.What, c.told)
				}
				if !told {
					t.Errorf("not told: %+v\n%s", s.found, text)
				}
				s.inside("true")
				for _, f := range s.found {
					t.Errorf("told again: %+v", f)
				}
			})
		}
	})
}
