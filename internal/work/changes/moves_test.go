package changes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

// shuffled is a world in which files moved into the places of one another: a turn of a tool or of a command.
// Something new may be where one was, or came over another.
func shuffled(text func(name string) string) *world {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	clear(w.files)
	names := []string{"/w/a", "/w/b", "/w/c", "/w/d"}
	for _, p := range names {
		w.files[p] = w.keep(delta.NewFile([]byte(text(p)), 0o644))
	}
	return w
}

// shuffle moves files, as a tool or a command does.
func (w *world) shuffle(rt *rapid.T, turn string) {
	now := w.paths()
	targets := rapid.Permutation(append([]string{"/w/new", "/w/old"}, now...)).Draw(rt, "targets")
	from, to := map[string]string{}, map[string]string{}
	for i, p := range now[:rapid.IntRange(1, len(now)).Draw(rt, "moves")] {
		if targets[i] != p {
			from[targets[i]], to[p] = p, targets[i]
		}
	}
	cause := rapid.SampledFrom([]string{ledger.CauseTool, ledger.CauseCommand}).Draw(rt, "cause")
	var set delta.Set
	for _, p := range slices.Sorted(maps.Keys(paths(from, to))) {
		c := delta.Change{Path: p, Pre: w.files[p], From: from[p], To: to[p]}
		switch {
		case from[p] != "":
			c.Post = w.files[from[p]]
		case rapid.IntRange(0, 3).Draw(rt, "anew") == 0:
			c.Post = delta.NewFile([]byte(w.word("ours")+"\n"), 0o644)
		}
		if c.Post != nil && cause == ledger.CauseCommand {
			c.To = "" // only the other half tells
		}
		if !c.Pre.Same(c.Post) {
			set = append(set, c)
		}
	}
	_ = w.commit(ledger.Entry{Session: "s", Turn: turn, Cause: cause, Certainty: ledger.Proven}, set)
}

func paths(maps ...map[string]string) map[string]bool {
	all := map[string]bool{}
	for _, m := range maps {
		for p := range m {
			all[p] = true
		}
	}
	return all
}

// lost are the lines of one tree that are in none of the files of another.
func lost(from, to map[string]*delta.Image) (gone []string) {
	var all strings.Builder
	for _, img := range to {
		all.Write(img.Data)
	}
	for p, img := range from {
		for line := range strings.Lines(string(img.Data)) {
			if !strings.HasPrefix(line, "ours") && !strings.Contains(all.String(), line) {
				gone = append(gone, line+"of "+p)
			}
		}
	}
	return gone
}

// TestOneOfManyMovesIsTakenBack with those that it cannot be without: no file is lost by it, nor when it is
// brought back.
func TestOneOfManyMovesIsTakenBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := shuffled(func(name string) string { return name + "\n" })
		w.shuffle(rt, "t1")
		if len(w.entries[0].Changes) == 0 {
			return
		}
		moved := maps.Clone(w.files)
		for _, redo := range []bool{false, true} {
			before := maps.Clone(w.files)
			c := Choice{Redo: redo, Paths: []string{rapid.SampledFrom(w.entries[0].Changes).Draw(rt, "path").Path}}
			p, err := w.reader().plan(newBook(w.entries), c, w.look())
			if err != nil && redo {
				return // nothing of it was taken back
			}
			if err != nil || p.Problem != "" {
				rt.Fatalf("%v: %v %+v\n%s", c.Paths, err, p, w.story())
			}
			if err := w.do(p); err != nil {
				rt.Fatal(err)
			}
			if redo { // what was moved over is gone again
				maps.DeleteFunc(before, func(_ string, i *delta.Image) bool { return len(lost(map[string]*delta.Image{"": i}, moved)) > 0 })
			}
			if gone := lost(before, w.files); len(gone) > 0 {
				rt.Fatalf("%v, redo %v: %q\n%s", c.Paths, redo, gone, w.story())
			}
		}
	})
}

// TestOneOfSeveralTurnsOfMovesIsTakenBack, whichever it is, and brought back: no file is lost by it but those that
// it brings back over another one, as the turn did.
func TestOneOfSeveralTurnsOfMovesIsTakenBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := shuffled(func(name string) string { return name + "\n1\n2\n3\n4\n" })
		for _, turn := range []string{"t1", "t2", "t3"} {
			w.shuffle(rt, turn)
			if rapid.Bool().Draw(rt, "others write") {
				name := rapid.SampledFrom(w.paths()).Draw(rt, "where")
				w.files[name] = w.keep(delta.NewFile([]byte(string(w.files[name].Data)+w.word("mine")+"\n"), 0o644))
			}
		}
		before := maps.Clone(w.files)
		c := Choice{Turn: rapid.SampledFrom([]string{"", "t1", "t2", "t3"}).Draw(rt, "turn")}
		if rapid.Bool().Draw(rt, "by path") {
			c.Paths = []string{rapid.SampledFrom(w.paths()).Draw(rt, "path")}
		}
		c.Conflicts = rapid.SampledFrom([]settle.Way{"", settle.Skip, settle.Ours, settle.Merge}).Draw(rt, "way")
		p, err := w.plannedAndDone(c)
		if p == nil || p.Problem != "" {
			return
		}
		if gone := lost(before, w.files); len(gone) > 0 || err != nil {
			rt.Fatalf("%q, %v\n%+v\n%s", gone, err, p.Files, w.story())
		}
		p, err = w.plannedAndDone(Choice{Redo: true})
		if p == nil || p.Problem != "" || err != nil {
			rt.Fatalf("it is not brought back: %v %+v\n%s", err, p, w.story())
		}
		if d := differ(before, w.files); d != "" {
			rt.Fatalf("%s is not as it was\n%s", d, w.story())
		}
	})
}

// TestWhatCannotGoBackStays where it is: others change files meanwhile, and what is in conflict is left alone. Nothing
// is lost of what was there, nor what they wrote.
func TestWhatCannotGoBackStays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := shuffled(func(name string) string { return name + "\n" })
		w.shuffle(rt, "t1")
		if len(w.entries[0].Changes) == 0 {
			return
		}
		first := maps.Clone(w.files)
		for _, redo := range []bool{false, true} {
			if !redo && rapid.Bool().Draw(rt, "alone") {
				_, _ = w.plannedAndDone(Choice{})
				continue
			}
			name := rapid.SampledFrom(append(w.paths(), "/w/new", "/w/a", "/w/b")).Draw(rt, "others")
			w.files[name] = w.keep(delta.NewFile([]byte(w.word("mine")+"\n"), 0o644))
			before := maps.Clone(w.files)
			if !redo {
				first = before
			}
			p, err := w.plannedAndDone(Choice{Redo: redo, Conflicts: rapid.SampledFrom([]settle.Way{"", settle.Skip, settle.Ours,
				settle.Merge}).Draw(rt, "way")})
			if p == nil {
				return
			}
			if redo {
				before = maps.Clone(before) // what was moved over is gone again
				maps.DeleteFunc(before, func(_ string, i *delta.Image) bool {
					return !strings.HasPrefix(string(i.Data), "mine") && len(lost(map[string]*delta.Image{"": i}, first)) > 0
				})
			}
			if gone := lost(before, w.files); len(gone) > 0 || err != nil {
				rt.Fatalf("redo %v, others at %s: %q, %v\n%+v\n%s", redo, name, gone, err, p.Files, w.story())
			}
		}
	})
}

// plannedAndDone plans and, where there is no conflict, carries out; without a plan there is nothing to do.
func (w *world) plannedAndDone(c Choice) (*Plan, error) {
	p, err := w.reader().plan(newBook(w.entries), c, w.look())
	if err != nil {
		return nil, nil
	}
	if p.Problem != "" {
		return p, nil
	}
	return p, w.do(p)
}

// TestAnEditIsTakenBackWhereTheFileIs, also when something else has its name.
func TestAnEditIsTakenBackWhereTheFileIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := shuffled(func(name string) string { return name + "\n1\n2\n3\nedited\n" })
		path := rapid.SampledFrom(w.paths()).Draw(rt, "path")
		was := w.files[path]
		w.files[path] = w.keep(delta.NewFile([]byte(strings.Replace(string(was.Data), "edited", "text", 1)), was.Mode))
		_ = w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool, Certainty: ledger.Proven},
			delta.Set{{Path: path, Pre: w.files[path], Post: was}})
		w.shuffle(rt, "t2")
		before := maps.Clone(w.files)
		if !slices.ContainsFunc(slices.Collect(maps.Values(before)), was.Same) {
			return // something came over it
		}
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t1"}, w.look())
		if err != nil {
			rt.Fatal(err)
		}
		if p.Problem == "" {
			err = w.do(p)
		}
		for name, img := range w.files {
			if !img.Same(before[name]) && !strings.HasPrefix(string(img.Data), path+"\n") {
				rt.Errorf("%s was changed, and the edit was in %s: %v\n%s", name, path, err, w.story())
			}
		}
	})
}

// TestASingleEditOfWhatCameOverAnother is taken back where the file is, and nothing else moves.
func TestASingleEditOfWhatCameOverAnother(t *testing.T) {
	w := shuffled(func(name string) string { return name + "\n" })
	e := ledger.Entry{Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseCommand, Certainty: ledger.Proven}
	set := delta.Set{{Path: "/w/a", Pre: w.files["/w/a"], Post: w.files["/w/b"], From: "/w/b"}, {Path: "/w/b", Pre: w.files["/w/b"]}}
	if err := w.commit(e, set); err != nil {
		t.Fatal(err)
	}
	steps := stepsOfEntry(&w.entries[0], func(string) bool { return true })
	s, err := w.reader().without(steps, "/w/a", diff.Part{Edits: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	inverter, p := newInverter(w.reader(), newBook(w.entries), w.look()), &Plan{}
	inverter.back(s)
	inverter.result(p)
	if len(p.Set) != 1 || p.Set[0].Path != "/w/a" || string(p.Set[0].Post.Data) != "/w/a\n" || p.Set[0].To != "" {
		t.Errorf("%+v", p.Set)
	}
}

// TestABackupOfWhatIsLeftStays: a command moved a file aside, and nobody saw who changed what is in its place. That
// stays when the turn is undone, so the name aside does, too, unless what it holds is there as well.
func TestABackupOfWhatIsLeftStays(t *testing.T) {
	for now, stays := range map[string]bool{"patched\n": true, "1\nof the user\n": false} {
		w := shuffled(func(name string) string { return name })
		clear(w.files)
		held := w.keep(delta.NewFile([]byte("1\nof the user\n"), 0o644))
		place := w.keep(delta.NewFile([]byte(now), 0o644))
		w.files["/w/f"] = held
		e := ledger.Entry{Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseCommand, Certainty: ledger.Proven}
		other := w.keep(delta.NewFile([]byte("other\n"), 0o644))
		if err := w.commit(e, delta.Set{{Path: "/w/f.orig", Post: held, From: "/w/f"}, {Path: "/w/other", Post: other}}); err != nil {
			t.Fatal(err)
		}
		e.Certainty = ledger.Unproven
		if err := w.commit(e, delta.Set{{Path: "/w/f", Pre: held, Post: place}}); err != nil && stays {
			t.Fatal(err)
		}
		for _, how := range []settle.Way{"", settle.Skip, settle.Ours, settle.Merge} {
			p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t", Conflicts: how}, w.look())
			if err != nil {
				t.Fatal(err)
			}
			removed := false
			for _, c := range p.Set {
				removed = removed || c.Path == "/w/f.orig" && c.Post == nil
			}
			if removed == stays {
				t.Errorf("%q, settled by %q: the backup is removed: %v; %+v", now, how, removed, p.Files)
			}
		}
	}
}
