package witness_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise"
)

// atCut is what a name, s/x, is at a cut: what there was, and what the command did.
var atCut = map[string]struct {
	was string // nothing, a file of this text, "linked" to l, or "large"
	did []deed
}{
	"untouched":                   {"x of the tree", nil},
	"written":                     {"x of the tree", []deed{{Do: "write", A: "s/x", Text: "one"}}},
	"grown":                       {"x of the tree", []deed{{Do: "append", A: "s/x", Text: "one"}}},
	"open":                        {"x of the tree", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}}},
	"open, not written":           {"x of the tree", []deed{{Do: "hold", A: "s/x"}}},
	"open to grow":                {"x of the tree", []deed{{Do: "holdappend", A: "s/x"}, {Do: "put", Text: "one"}}},
	"made":                        {"", []deed{{Do: "write", A: "s/x", Text: "one"}}},
	"made, open":                  {"", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}}},
	"replaced":                    {"x of the tree", []deed{{Do: "write", A: "y", Text: "one"}, {Do: "rename", A: "y", B: "s/x"}}},
	"open and replaced":           {"x of the tree", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}, {Do: "write", A: "y", Text: "two"}, {Do: "rename", A: "y", B: "s/x"}}},
	"replaced by the like":        {"x of the tree", []deed{{Do: "write", A: "y", Text: "x of the tree"}, {Do: "rename", A: "y", B: "s/x"}}},
	"replaced, open":              {"x of the tree", []deed{{Do: "hold", A: "y"}, {Do: "put", Text: "one"}, {Do: "rename", A: "y", B: "s/x"}}},
	"gone":                        {"x of the tree", []deed{{Do: "unlink", A: "s/x"}}},
	"open and gone":               {"x of the tree", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}, {Do: "unlink", A: "s/x"}}},
	"exchanged":                   {"x of the tree", []deed{{Do: "exchange", A: "s/x", B: "g"}}},
	"with another mode":           {"x of the tree", []deed{{Do: "chmod", A: "s/x", N: 0o600}}},
	"mapped":                      {"x of the tree", []deed{{Do: "mapped", A: "s/x", Text: "one"}}},
	"given a second name":         {"x of the tree", []deed{{Do: "link", A: "s/x", B: "l"}}},
	"not taken away":              {"x of the tree", []deed{{Do: "rename", A: "t", B: "s/x"}}},
	"linked, untouched":           {"linked", nil},
	"linked, grown":               {"linked", []deed{{Do: "append", A: "s/x", Text: "one"}}},
	"linked, grown at the other":  {"linked", []deed{{Do: "append", A: "l", Text: "one"}}},
	"linked, open":                {"linked", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}}},
	"linked, open at the other":   {"linked", []deed{{Do: "hold", A: "l"}, {Do: "put", Text: "one"}}},
	"linked, open and exchanged":  {"linked", []deed{{Do: "holdappend", A: "l"}, {Do: "put", Text: "one"}, {Do: "exchange", A: "s/x", B: "g"}}},
	"linked, exchanged":           {"linked", []deed{{Do: "append", A: "s/x", Text: "one"}, {Do: "exchange", A: "s/x", B: "g"}}},
	"linked, moved away and back": {"linked", []deed{{Do: "exchange", A: "s/x", B: "g"}, {Do: "exchange", A: "s/x", B: "g"}}},
	"linked, moved there":         {"linked", []deed{{Do: "rename", A: "s/x", B: "n"}, {Do: "rename", A: "n", B: "s/x"}}},
	"linked, given one more name": {"linked", []deed{{Do: "link", A: "s/x", B: "m"}}},
	"linked, with another mode":   {"linked", []deed{{Do: "chmod", A: "s/x", N: 0o600}}},
	"linked, moved here":          {"linked", []deed{{Do: "append", A: "l", Text: "one"}, {Do: "rename", A: "l", B: "n"}, {Do: "exchange", A: "s/x", B: "n"}}},
	"large, not taken away":       {"large", []deed{{Do: "rename", A: "t", B: "s/x"}}},
	"large, grown":                {"large", []deed{{Do: "append", A: "s/x", Text: "one"}}},
	"large, open to grow":         {"large", []deed{{Do: "holdappend", A: "s/x"}, {Do: "put", Text: "one"}}},
	"large, open":                 {"large", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}}},
	"large, given a second name":  {"large", []deed{{Do: "link", A: "s/x", B: "l"}}},
	"large, open, not taken away": {"large", []deed{{Do: "link", A: "s/x", B: "l"}, {Do: "holdappend", A: "l"}, {Do: "put", Text: "one"},
		{Do: "rename", A: "t", B: "s/x"}}},
	"large, open again, not taken away": {"large", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}, {Do: "rename", A: "t", B: "s/x"}}},
	"large, not taken away, moved":      {"large", []deed{{Do: "rename", A: "t", B: "s/x"}, {Do: "exchange", A: "s/x", B: "g"}}},
	"a link":                            {"", []deed{{Do: "symlink", A: "s/x", B: "../g"}}},
	"a directory":                       {"", []deed{{Do: "mkdir", A: "s/x"}}},
	"moved with its directory":          {"x of the tree", []deed{{Do: "rename", A: "s", B: "u"}, {Do: "rename", A: "u", B: "s"}}},
	"open, moved with its directory": {"x of the tree", []deed{{Do: "hold", A: "s/x"}, {Do: "put", Text: "one"}, {Do: "rename", A: "s", B: "u"},
		{Do: "rename", A: "u", B: "s"}}},
}

// sinceCut is what the command does to the name behind the cut.
var sinceCut = map[string][]deed{
	"nothing":                    nil,
	"written on":                 {{Do: "put", Text: "THEN"}},
	"written":                    {{Do: "write", A: "s/x", Text: "THEN"}},
	"written, then on":           {{Do: "write", A: "s/x", Text: "THEN"}, {Do: "put", Text: "ON"}},
	"grown":                      {{Do: "append", A: "s/x", Text: "THEN"}},
	"written over":               {{Do: "over", A: "s/x", Text: "THEN"}},
	"cut short":                  {{Do: "truncate", A: "s/x", N: 3}},
	"replaced":                   {{Do: "write", A: "z", Text: "THEN"}, {Do: "rename", A: "z", B: "s/x"}},
	"replaced, then on":          {{Do: "write", A: "z", Text: "THEN"}, {Do: "rename", A: "z", B: "s/x"}, {Do: "put", Text: "ON"}},
	"moved away":                 {{Do: "rename", A: "s/x", B: "away"}},
	"moved away, then on":        {{Do: "rename", A: "s/x", B: "away"}, {Do: "put", Text: "ON"}},
	"moved away, made anew":      {{Do: "rename", A: "s/x", B: "away"}, {Do: "write", A: "s/x", Text: "THEN"}},
	"moved over another":         {{Do: "rename", A: "s/x", B: "g"}},
	"moved on and on":            {{Do: "rename", A: "s/x", B: "away"}, {Do: "rename", A: "away", B: "g"}, {Do: "put", Text: "ON"}},
	"exchanged":                  {{Do: "exchange", A: "s/x", B: "g"}},
	"exchanged, then on":         {{Do: "exchange", A: "s/x", B: "g"}, {Do: "put", Text: "ON"}},
	"exchanged and written":      {{Do: "exchange", A: "s/x", B: "g"}, {Do: "write", A: "s/x", Text: "THEN"}, {Do: "append", A: "g", Text: "ON"}},
	"unlinked":                   {{Do: "unlink", A: "s/x"}},
	"unlinked, then on":          {{Do: "unlink", A: "s/x"}, {Do: "put", Text: "ON"}},
	"unlinked, made anew":        {{Do: "unlink", A: "s/x"}, {Do: "write", A: "s/x", Text: "THEN"}},
	"linked":                     {{Do: "link", A: "s/x", B: "l2"}},
	"linked and grown":           {{Do: "link", A: "s/x", B: "l2"}, {Do: "append", A: "l2", Text: "THEN"}},
	"its other name gone":        {{Do: "unlink", A: "l"}, {Do: "put", Text: "ON"}},
	"its other name grown":       {{Do: "append", A: "l", Text: "THEN"}},
	"its other name moved":       {{Do: "rename", A: "l", B: "l2"}, {Do: "append", A: "l2", Text: "THEN"}},
	"its other name exchanged":   {{Do: "exchange", A: "l", B: "g"}, {Do: "append", A: "g", Text: "THEN"}},
	"not taken away":             {{Do: "rename", A: "t", B: "s/x"}},
	"not taken away, then on":    {{Do: "rename", A: "t", B: "s/x"}, {Do: "put", Text: "ON"}},
	"moved with its directory":   {{Do: "rename", A: "s", B: "u"}},
	"moved so, then on":          {{Do: "rename", A: "s", B: "u"}, {Do: "put", Text: "ON"}},
	"exchanged with directories": {{Do: "exchange", A: "s", B: "t"}, {Do: "put", Text: "ON"}},
	"directory and file":         {{Do: "exchange", A: "s", B: "g"}},
	"removed with its directory": {{Do: "remove", A: "s"}},
	"with another mode":          {{Do: "chmod", A: "s/x", N: 0o755}},
	"mapped":                     {{Do: "mapped", A: "s/x", Text: "THEN"}},
	"closed":                     {{Do: "release"}},
}

// looks is when a command is looked at: behind what it did first, and behind what it did then.
// What is entered is what Kerf knows after a kill.
var looks = map[string][2]string{
	"entered":               {"entered", ""},
	"torn":                  {"torn", ""},
	"entered, then torn":    {"entered", "torn"},
	"entered, then entered": {"entered", "entered"},
	"none":                  {"", ""},
}

// kills are who is killed.
var kills = []string{"Kerf", "the helper", "both", "both, in the middle of a record"}

// cutPlay is one of them: all states at it with all that can follow, each in a directory of its own and by
// a thread of its own, which made its last call in there.
type cutPlay struct{ state, then, dir string }

func cuts() (list []cutPlay) {
	for _, state := range sorted(atCut) {
		for _, then := range sorted(sinceCut) {
			list = append(list, cutPlay{state, then, fmt.Sprintf("c%04d", len(list))})
		}
	}
	return list
}

func (c cutPlay) deeds() (list []deed) {
	in := func(deeds []deed) {
		for _, d := range deeds {
			if d.A != "" {
				d.A = c.dir + "/" + d.A
			}
			if d.B != "" && d.Do != "symlink" {
				d.B = c.dir + "/" + d.B
			}
			list = append(list, d)
		}
	}
	in(atCut[c.state].did)
	list = append(list, deed{Do: "meet", N: 1})
	in(sinceCut[c.then])
	list = append(list, deed{Do: "meet", N: 2}, deed{Do: "put", Text: "LAST"}, deed{Do: "meet", N: 3})
	return list
}

func (c cutPlay) set(s *stage) {
	s.Helper()
	s.write(c.dir+"/g", "g of the tree")
	s.write(c.dir+"/s/o", "o of the tree")
	s.write(c.dir+"/t/o", "o of the other")
	switch was := atCut[c.state].was; was {
	case "":
	case "linked":
		s.write(c.dir+"/s/x", "twice")
		if err := os.Link(filepath.Join(s.root, c.dir, "s/x"), filepath.Join(s.root, c.dir, "l")); err != nil {
			s.Fatal(err)
		}
	case "large":
		s.write(c.dir+"/s/x", strings.Repeat("large of the tree\n", 4000))
	default:
		s.write(c.dir+"/s/x", was)
	}
}

// TestWhatANameHeldAtACutIsKnownAfterAKill plays what a name is at a cut, what happens to it then, and
// who is killed: what is told is what happened, and that the command did it.
//
// With KERF_LONG=all all is played, else each combination of a state with what follows by a part of
// those of a look with a kill. KERF_TEST_CUT is one combination, as it is told: "open / linked".
func TestWhatANameHeldAtACutIsKnownAfterAKill(t *testing.T) {
	long.Slow(t)
	n := 0
	for _, look := range sorted(looks) {
		for _, kill := range kills {
			if kill == "the helper" && strings.Contains(look, "torn") {
				continue // a Kerf that lives enters what it looked at
			}
			all, i := cuts(), n
			n++
			if only := os.Getenv("KERF_TEST_CUT"); only != "" {
				all = slices.DeleteFunc(all, func(c cutPlay) bool { return c.state+" / "+c.then != only })
			} else {
				all = slices.DeleteFunc(all, func(cutPlay) bool { i++; return i%plays(1, 3, 13, 61) != 0 })
			}
			t.Run(look+", killed "+kill, func(t *testing.T) { playCuts(t, all, look, kill) })
		}
	}
}

func playCuts(t *testing.T, all []cutPlay, look, kill string) {
	s := newStage(t)
	w := s.enters()
	p := play{Threads: true}
	for _, c := range all {
		c.set(s)
		p.Lists = append(p.Lists, c.deeds())
	}
	before := snap(s, s.root)
	at := filepath.Join(s.home, "meetings")
	meet, err := newRing(at)
	if err != nil {
		t.Fatal(err)
	}
	x, cmd, out := s.begin(p, "KERF_TEST_MEETINGS="+at)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await := func(n int) {
		for meet.at.Load() < int64(n*len(all)) {
			select {
			case err := <-ended:
				t.Fatalf("%v\n%s", err, out)
			case <-time.After(100 * time.Microsecond):
			}
		}
	}
	ctx, known := context.Background(), texts{}
	var reports []witness.Report
	add := func(r witness.Report) error {
		s.load(r)
		known.learn(r)
		reports = append(reports, r)
		_, err := enter.Report(ctx, w, txn.Origin{Session: "s", Call: "c"}, r)
		return err
	}
	collect := func(what string) {
		if what == "" {
			return
		}
		var err error
		if cerr := x.Collect(func(r witness.Report) {
			if what == "entered" {
				err = add(r)
			}
		}); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
	}
	await(1)
	collect(looks[look][0])
	meet.over.Store(1)
	await(2)
	collect(looks[look][1])
	if kill == "Kerf" || kill == older {
		if err := s.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	meet.over.Store(2)
	await(3)
	if kill != "Kerf" && kill != older {
		s.signed()
		s.killHelper()
	}
	if strings.HasPrefix(kill, "both") {
		if err := s.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	meet.over.Store(3)
	<-ended
	for _, stop := range s.boxes {
		stop()
	}
	s.boxes = nil
	after := snap(s, s.root)
	switch kill {
	case "the helper":
		_ = x.End(func(r witness.Report) bool { return add(r) == nil })
	case "both, in the middle of a record":
		tear(t, s)
		fallthrough
	case older:
		if kill == older {
			age(t, s)
		}
		fallthrough
	default:
		o := witness.Options{Dir: s.home, Roots: []string{s.root}, Ledger: s.ledger, Store: s.store}
		if _, err := witness.Recover(ctx, o, func(_ ledger.Entry, r witness.Report) error { return add(r) }); err != nil {
			t.Fatal(err)
		}
	}
	judgeCuts(t, s, all, before, after, reports, kill, out.String())
}

// load completes the contents of a report that only the store has.
func (b *bench) load(r witness.Report) {
	b.Helper()
	for _, p := range r.Parts {
		for _, c := range p.Set {
			for _, i := range []*delta.Image{c.Pre, c.Post} {
				if i == nil || i.Kind != delta.File || i.Loaded {
					continue
				}
				data, err := b.store.Get(i.Sum)
				if err != nil {
					b.Fatal(c.Path, err)
				}
				i.Data = data
			}
		}
	}
}

// signed waits until the helper has shown that it saw all until now, which it does while something is open
// for writing. Without that nobody knows who wrote to what was open then.
func (s *stage) signed() {
	s.Helper()
	for now, end := time.Now(), time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(s.journal()); err == nil && st.ModTime().After(now) {
			return
		}
	}
	s.Fatal("the helper gave no sign")
}

// journal is the only one there is.
func (s *stage) journal() string {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.home, "witness", "*", "*", journal.Name))
	if err != nil || len(files) != 1 {
		s.Fatal(files, err)
	}
	return files[0]
}

// older says that the journal is one of an older Kerf.
const older = "Kerf, an older one"

// TestAnOlderJournalIsRead: its records of what the command could change behind a cut tell the names alone.
func TestAnOlderJournalIsRead(t *testing.T) {
	long.Slow(t)
	all := slices.DeleteFunc(cuts(), func(c cutPlay) bool {
		return !slices.Contains([]string{"open / written on", "grown / grown", "made, open / written on", "written / replaced",
			"linked, open / nothing", "replaced / moved with its directory", "a directory / its other name grown"}, c.state+" / "+c.then)
	})
	playCuts(t, all, "entered", older)
}

// age makes an older journal of the only one.
func age(t *testing.T, s *stage) {
	t.Helper()
	dir, fresh := filepath.Dir(s.journal()), filepath.Join(t.TempDir(), "fresh")
	if !supervise.Ended(context.Background(), dir, time.Minute) {
		t.Fatal("the helper goes on")
	}
	r, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, whole, err := r.Next()
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	w, err := journal.Create(fresh)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range list {
		if x := &list[i]; x.Kind == journal.StillOpen {
			x.Number, x.Before, told = 0, journal.State{}, told+1
		}
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || told == 0 {
		t.Fatal(err, told)
	}
	if err := os.Rename(filepath.Join(fresh, journal.Name), s.journal()); err != nil {
		t.Fatal(err)
	}
}

// tear puts the half of a record behind the last one of a journal.
func tear(t *testing.T, s *stage) {
	t.Helper()
	b, err := os.ReadFile(s.journal())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.journal(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end := len(strings.TrimRight(string(b), "\x00"))
	if _, err := f.WriteAt([]byte("\x40\x00\x00\x00half"), int64((end+7)/8*8)); err != nil {
		t.Fatal(err)
	}
}

// judgeCuts tells which of them are told wrongly, or not for certain.
func judgeCuts(t *testing.T, s *stage, all []cutPlay, before, after snapshot, reports []witness.Report, kill, out string) {
	t.Helper()
	in := func(have snapshot, c cutPlay) snapshot {
		got := snapshot{}
		for name, text := range have {
			if strings.HasPrefix(name, c.dir+"/") {
				got[name] = text
			}
		}
		return got
	}
	wrong := 0
	for i, c := range all {
		mine := make([]witness.Report, len(reports))
		doubt := ""
		inside := func(p string) bool { return strings.HasPrefix(p, s.root+"/"+c.dir+"/") }
		for i, r := range reports {
			for _, p := range r.Parts {
				part := witness.Part{Certainty: p.Certainty}
				part.Set = append(part.Set, slices.DeleteFunc(slices.Clone(p.Set), func(c delta.Change) bool { return !inside(c.Path) })...)
				for _, d := range p.Dirs {
					if inside(string(d)) {
						part.Dirs = append(part.Dirs, d)
					}
				}
				for _, d := range p.Gone {
					if inside(string(d.Path)) {
						part.Gone = append(part.Gone, d)
					}
				}
				if !part.Empty() {
					mine[i].Parts = append(mine[i].Parts, part)
					if p.Certainty != ledger.Proven {
						doubt = "nobody else was there, yet something is not proven"
					}
				}
			}
			for _, g := range r.Gaps {
				if inside(string(g.Path)) {
					mine[i].Gaps = append(mine[i].Gaps, g)
					doubt = "nothing was to be noted"
				}
			}
		}
		var f faults
		adds(&f, s.root, in(before, c), in(after, c), mine, "")
		if len(f) == 0 && doubt != "" {
			f.Fatalf("%s\n%s", doubt, told(mine))
		}
		if len(f) == 0 {
			continue
		}
		if wrong++; wrong <= 400 {
			t.Errorf("%s / %s: %s%s", c.state, c.then, strings.ReplaceAll(f[0], s.root+"/"+c.dir+"/", ""), errorsOf(out, i))
		}
	}
	if len(reports) == 0 {
		t.Error("nothing was told")
	}
	t.Logf("%d of %d are told wrongly or not for certain", wrong, len(all))
}

// errorsOf is what the deeds of a list came to, of those that failed.
func errorsOf(out string, list int) (text string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, fmt.Sprintf(`{"List":%d,`, list)) && strings.Contains(line, "Error") {
			text += line
		}
	}
	return text
}
