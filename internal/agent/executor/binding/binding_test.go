package binding

import (
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/agent/executor/place"
	"kerf/internal/work/boundary"
)

// TestAnswersAreBound: of all that decides about what a command starts, nothing can change
// without the sum changing, too; what does not decide changes nothing.
func TestAnswersAreBound(t *testing.T) {
	base := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, line string
		env        []string // that is added
		change     func()
		same       bool
	}{
		{name: "nothing", line: "mytool build", change: func() {}, same: true},
		{name: "another file", line: "mytool build", change: func() { write("w/other", "x") }, same: true},
		{name: "touched", line: "sh run.sh", change: func() { write("w/run.sh", "echo a") }, same: true},
		{name: "content of the program", line: "mytool build", change: func() { write("bin/mytool", "#!/bin/sh\nevil") }},
		{name: "another one before it", line: "mytool build", change: func() { write("first/mytool", "#!/bin/sh\nevil") }},
		{name: "link of the program", line: "mytool build", change: func() {
			write("bin/evil", "evil")
			do(os.Remove(filepath.Join(base, "bin/mytool")))
			do(os.Symlink("evil", filepath.Join(base, "bin/mytool")))
		}},
		{name: "gone", line: "mytool build", change: func() { do(os.Remove(filepath.Join(base, "bin/mytool"))) }},
		{name: "a neighbour", line: "ls && mytool build", change: func() { write("bin/mytool", "evil") }},
		{name: "started by another", line: "env A=1 nice mytool build", change: func() { write("bin/mytool", "evil") }},
		{name: "a script", line: "sh run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "a script with options", line: "bash -e ./run.sh a", change: func() { write("w/run.sh", "evil") }},
		{name: "a script behind the value of an option", line: "bash -O extglob run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "and a file of the name of the value", line: "bash -O sub/in.sh run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "what an option has read before", line: "node --require ./sub/in.sh run.sh", change: func() { write("w/sub/in.sh", "evil") }},
		{name: "what an option has read before, joined", line: "node --import=./sub/in.sh run.sh",
			change: func() { write("w/sub/in.sh", "evil") }},
		{name: "a module", line: "python3 -m sub.mod", change: func() { write("w/sub/mod.py", "evil") }},
		{name: "an argument of a script", line: "sh run.sh sub/in.sh", change: func() { write("w/sub/in.sh", "data") }, same: true},
		{name: "a script by its input", line: "sh < run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "a script by a pipe", line: "cat run.sh | sh", change: func() { write("w/run.sh", "evil") }},
		{name: "another makefile", line: "make -f sub/in.sh all", change: func() { write("w/sub/in.sh", "evil:") }},
		{name: "a makefile elsewhere", line: "make -C sub", change: func() { write("w/sub/Makefile", "evil:") }},
		{name: "a makefile elsewhere, joined", line: "make -Csub", change: func() { write("w/sub/Makefile", "evil:") }},
		{name: "a package elsewhere", line: "npm --prefix sub test", change: func() { write("w/sub/package.json", "{}") }},
		{name: "a sourced file", line: ". ./run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "a script elsewhere", line: "cd sub && sh in.sh", change: func() { write("w/sub/in.sh", "evil") }},
		{name: "a program by its path", line: "./run.sh", change: func() { write("w/run.sh", "evil") }},
		{name: "in a script", line: "sh -c 'mytool build'", change: func() { write("bin/mytool", "evil") }},
		{name: "a makefile", line: "make all", change: func() { write("w/Makefile", "evil:") }},
		{name: "scripts of a package", line: "npm test", change: func() { write("w/package.json", "{}") }},
		{name: "the directory", line: "mytool build", change: func() {
			do(os.Rename(filepath.Join(base, "w"), filepath.Join(base, "old")))
			do(os.Mkdir(filepath.Join(base, "w"), 0o755))
		}},
		{name: "the directory by a link", line: "mytool build", change: func() {
			do(os.Rename(filepath.Join(base, "w"), filepath.Join(base, "old")))
			do(os.Symlink("old", filepath.Join(base, "w")))
		}},
		{name: "the environment", line: "mytool build", env: []string{"LD_PRELOAD=x"}, change: func() {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			do(os.RemoveAll(base))
			write("bin/mytool", "#!/bin/sh\necho")
			write("w/run.sh", "echo a")
			write("w/sub/in.sh", "echo b")
			write("w/Makefile", "all:")
			do(os.MkdirAll(filepath.Join(base, "first"), 0o755))
			env := []string{"PATH=" + filepath.Join(base, "first") + ":" + filepath.Join(base, "bin") + ":/usr/bin:/bin"}
			dir := filepath.Join(base, "w")
			at := place.New(func() (none boundary.Policy) { return }, env)
			before := Of(tt.line, dir, env, at)
			tt.change()
			env = append(env, tt.env...)
			now := Of(tt.line, dir, env, at)
			if same := before.Sum() == now.Sum(); same != tt.same {
				t.Errorf("%s: the same sum: %v", tt.line, same)
			}
			if why := before.Changed(now); (why == "") != tt.same {
				t.Errorf("%s: changed %q", tt.line, why)
			}
		})
	}
}
