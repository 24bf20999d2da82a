package changes

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/testkit/memory"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/moved"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

func TestMain(m *testing.M) {
	flag.Parse()
	n := "1000"
	if os.Getenv("KERF_LONG") != "" {
		n = "20000"
	}
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = flag.Set("rapid.checks", n)
	}
	os.Exit(memory.Run(m))
}

// source draws numbers from 0 to n-1: rapid's, which shrink, or plain random ones.
type source func(n int) int

// world is a workspace in memory: files, a ledger and a store.
type world struct {
	draw    source
	files   map[string]*delta.Image
	images  map[delta.Sum][]byte
	entries []ledger.Entry
	turn    int
	words   int
	fault   Fault
	alone   bool // nobody but Kerf changes anything
	whole   int64
	// verified are the contents that the store has and nobody should load.
	verified map[delta.Sum]bool
	merges   int
	// followed counts files that were changed where others had moved them without a word.
	followed int
}

func newWorld(draw source, fault Fault, alone bool) *world {
	w := &world{draw: draw, files: map[string]*delta.Image{}, images: map[delta.Sum][]byte{}, fault: fault, alone: alone,
		whole: int64(40 * draw(2)), verified: map[delta.Sum]bool{}}
	for _, p := range []string{"/w/a", "/w/b"} {
		w.files[p] = w.keep(delta.NewFile([]byte("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"), 0o644))
	}
	return w
}

// Get makes the world a store.
func (w *world) Get(sum delta.Sum) ([]byte, error) {
	if b, ok := w.images[sum]; ok {
		return b, nil
	}
	return nil, errors.New("no such image")
}

func (w *world) Verify(sum delta.Sum) error {
	if w.verified[sum] {
		return nil
	}
	_, err := w.Get(sum)
	return err
}

func (w *world) keep(i *delta.Image) *delta.Image {
	if i != nil && i.Loaded {
		w.images[i.Sum] = i.Data
	} else if data, ok := w.images[i.At().Sum]; ok {
		i = &delta.Image{Version: i.Version, Data: data, Loaded: true}
	}
	return i
}

func (w *world) look() present.Look {
	return present.Look{
		At: func(path string) (*delta.Image, error) {
			img := w.files[path]
			if w.whole > 0 && img != nil && img.Size > w.whole {
				return &delta.Image{Version: img.Version}, nil
			}
			return img, nil
		},
		Load:  func(path string) (*delta.Image, error) { return w.files[path], nil },
		Names: func(string) ([]string, error) { return nil, nil },
		Moved: w.like,
	}
}

// like finds a file that moved without a word.
func (w *world) like(s moved.Search) string {
	best, found := 59, ""
	if s.Goes {
		best = 99
	}
	was, err := s.Load()
	if err != nil {
		return ""
	}
	for _, p := range w.paths() {
		if img := w.files[p]; img == nil || img.Kind != delta.File || s.Known(p) {
			continue
		}
		if n := diff.Similarity(was.Data, w.files[p].Data); n > best {
			best, found = n, p
		}
	}
	return found
}

func (w *world) reader() Reader { return Reader{Images: w, Base: "/w", Fault: w.fault, Whole: w.whole} }

// commit applies a set as txn does: wholly, or not at all when something is not as
// the set was made for.
func (w *world) commit(e ledger.Entry, set delta.Set) error {
	for _, c := range set {
		if !w.files[c.Path].Same(c.Pre) {
			return fmt.Errorf("%s is not what the change is for", c.Path)
		}
	}
	for _, c := range set {
		if c.Post == nil {
			delete(w.files, c.Path)
		} else {
			w.files[c.Path] = w.keep(c.Post)
		}
	}
	e.Seq, e.Exact, e.Changes = int64(len(w.entries)+1), true, ledger.ChangesOf(set)
	w.entries = append(w.entries, e)
	return nil
}

func (w *world) paths() []string { return slices.Sorted(maps.Keys(w.files)) }

func (w *world) word(kind string) string {
	w.words++
	return fmt.Sprintf("%s%d", kind, w.words)
}

// edited is content with a line put in, replaced or taken out; lines of others
// are only ever added to.
func (w *world) edited(content []byte, kind string) []byte {
	all := bytes.SplitAfter(content, []byte("\n"))
	i := w.draw(len(all))
	line := []byte(w.word(kind) + "\n")
	if kind != "foreign" && w.draw(3) == 0 && len(all[i]) > 0 && !bytes.Contains(all[i], []byte("foreign")) {
		all[i] = line
		return bytes.Join(all, nil)
	}
	return bytes.Join(slices.Insert(all, i, line), nil)
}

// change is one random change of files.
func (w *world) change(kind string) delta.Set {
	names := []string{"/w/a", "/w/b", "/w/c", "/w/d/e", "/w/d/f"}
	have := w.paths()
	var set delta.Set
	path := names[w.draw(len(names))]
	what := w.draw(6)
	if kind == "foreign" && what%5 == 0 {
		path, what = "/w/"+w.word("moved"), 0
	}
	now := w.files[path]
	switch {
	case what == 0 && len(have) > 0 && now == nil: // a move
		from := have[w.draw(len(have))]
		img := w.files[from]
		if w.draw(2) == 0 && img.Kind == delta.File {
			img = delta.NewFile(w.edited(img.Data, kind), img.Mode)
		}
		set = delta.Set{{Path: from, Pre: w.files[from], To: path}, {Path: path, Post: img, From: from}}
	case what == 0 && len(have) > 0 && kind != "foreign":
		set = w.over(have[w.draw(len(have))], path)
	case what == 1 && now != nil && kind != "foreign":
		set = delta.Set{{Path: path, Pre: now}}
	case what == 2 && now != nil && now.Kind == delta.File:
		set = delta.Set{{Path: path, Pre: now, Post: delta.NewFile(now.Data, now.Mode^0o111)}}
	case what == 3 && now == nil:
		set = delta.Set{{Path: path, Post: delta.NewSymlink(w.word(kind))}}
	case now == nil:
		set = delta.Set{{Path: path, Post: delta.NewFile([]byte(w.word(kind)+"\n"+w.word(kind)+"\n"), 0o600)}}
	case now.Kind == delta.File:
		set = delta.Set{{Path: path, Pre: now, Post: delta.NewFile(w.edited(now.Data, kind), now.Mode)}}
	}
	return set
}

// over moves a file to the place of another one. The other is gone then, or takes the name that became free;
// that may also go to a new file.
func (w *world) over(from, to string) delta.Set {
	src, dst := w.files[from], w.files[to]
	if from == to || src.Same(dst) {
		return nil
	}
	set := delta.Set{{Path: from, Pre: src, To: to}, {Path: to, Pre: dst, Post: src, From: from}}
	switch w.draw(3) {
	case 0:
		set[0].Post, set[0].From, set[1].To = dst, to, from
	case 1:
		set[0].Post = delta.NewFile([]byte(w.word("ours")+"\n"), 0o600)
	}
	return set
}

// foreign are the words of others, also those of the beginning, that are in files or are targets of links.
func (w *world) foreign() map[string]bool {
	words := map[string]bool{}
	for _, i := range w.files {
		for _, word := range strings.Fields(string(i.Data)) {
			if !strings.HasPrefix(word, "ours") {
				words[word] = true
			}
		}
	}
	return words
}

// step makes one random thing happen and returns the law it broke, or "".
func (w *world) step() string {
	n := 8
	if w.alone {
		n = 6
	}
	switch what := w.draw(n); what {
	case 0, 1:
		w.turn++
		fallthrough
	case 2:
		return w.kerf(ledger.CauseTool)
	case 3:
		return w.kerf(ledger.CauseCommand)
	case 4, 5:
		return w.takeBack(w.choice())
	default:
		set := w.change("foreign")
		if w.draw(2) == 0 {
			_ = w.commit(ledger.Entry{Cause: ledger.CauseOutside}, set)
			return ""
		}
		entries := w.entries
		_ = w.commit(ledger.Entry{}, set) // nobody noticed
		w.entries = entries
		return ""
	}
}

func (w *world) kerf(cause string) string {
	if w.turn == 0 {
		w.turn = 1
	}
	if set := w.change("ours"); len(set) > 0 {
		for i, c := range set {
			if c.Post != nil && cause == ledger.CauseCommand {
				set[i].To = "" // only the other half tells
			}
		}
		_ = w.commit(ledger.Entry{Session: "s", Turn: fmt.Sprintf("t%d", w.turn), Call: w.word("c"), Cause: cause,
			Certainty: ledger.Proven}, set)
	}
	return ""
}

func (w *world) choice() Choice {
	c := Choice{Redo: w.draw(4) == 0}
	if w.alone { // the last first, as most people do
		n := len(w.entries)
		c.Redo = c.Redo && n > 0 && w.entries[n-1].Cause == ledger.CauseUndo
		c.ByCall = w.draw(2) == 0
		return c
	}
	switch w.draw(5) {
	case 0:
		c.Turn = fmt.Sprintf("t%d", 1+w.draw(max(w.turn, 1)))
	case 1:
		c.Paths = [][]string{{"/w/a", "/w/d"}, {"/w/a"}, {"/w/b"}, {"/w/c"}}[w.draw(4)]
	case 2:
		c.ByCall = true
	case 3:
		c.Turn, c.Session, c.Later = fmt.Sprintf("t%d", 1+w.draw(max(w.turn, 1))), "s", true
	}
	c.Follow = w.draw(2) == 0
	return c
}

// do carries a plan out.
func (w *world) do(p *Plan) error {
	e := ledger.Entry{Cause: ledger.CauseUndo, Only: p.only}
	if p.Redo {
		e.Cause = ledger.CauseRedo
	}
	for _, u := range p.Entries {
		e.Undoes = append(e.Undoes, u.Seq)
	}
	return w.commit(e, p.Set)
}

// takeBack undoes or redoes and checks the laws of doing so.
func (w *world) takeBack(c Choice) string {
	before := maps.Clone(w.files)
	p, err := w.reader().plan(newBook(w.entries), c, w.look())
	if err != nil {
		return ""
	}
	if p.Problem != "" || slices.ContainsFunc(p.Files, func(f FilePlan) bool { return f.Outcome == Conflict }) {
		if len(p.Set) > 0 {
			return "a conflict writes nothing at all"
		}
		return ""
	}
	foreign := w.foreign()
	if err := w.do(p); err != nil {
		return "a plan fits the present: " + err.Error()
	}
	for _, f := range p.Files {
		if f.Outcome == Merged {
			w.merges++
		}
		if w.recordless(f.Path) {
			w.followed++
		}
	}
	if c.Redo {
		return ""
	}
	now := w.foreign()
	for word := range foreign {
		if !now[word] {
			return "no byte of others is lost: " + word
		}
	}
	return w.thereAndBack(before)
}

// recordless reports whether no entry but the last tells how something came to a path.
func (w *world) recordless(path string) bool {
	return path != "/w/a" && path != "/w/b" && !slices.ContainsFunc(w.entries[:len(w.entries)-1], func(e ledger.Entry) bool {
		return slices.ContainsFunc(e.Changes, func(c ledger.Change) bool { return c.Path == path })
	})
}

// thereAndBack redoes what was just undone, compares with before, and sometimes
// leaves it so.
func (w *world) thereAndBack(before map[string]*delta.Image) string {
	after, n := maps.Clone(w.files), len(w.entries)
	p, err := w.reader().plan(newBook(w.entries), Choice{Redo: true}, w.look())
	if err != nil || p.Problem != "" {
		return fmt.Sprintf("what was undone can be redone: %v", err)
	}
	if err := w.do(p); err != nil {
		return "a redo fits the present: " + err.Error()
	}
	if d := differ(before, w.files); d != "" {
		return "undo then redo is the identity: " + d
	}
	if w.draw(2) == 0 {
		w.files, w.entries = after, w.entries[:n]
	}
	return ""
}

func differ(want, got map[string]*delta.Image) string {
	for p := range want {
		if !want[p].Same(got[p]) {
			return p
		}
	}
	for p := range got {
		if want[p] == nil {
			return p
		}
	}
	return ""
}

// live makes a history and returns the law it broke, or "".
func live(draw source, fault Fault, alone bool) (string, *world) {
	w := newWorld(draw, fault, alone)
	base := maps.Clone(w.files)
	for range 3 + draw(12) {
		if broken := w.step(); broken != "" {
			return broken, w
		}
	}
	if !alone {
		return "", w
	}
	for range len(w.entries) + 1 {
		p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
		if errors.Is(err, ErrNothing) {
			if d := differ(base, w.files); d != "" {
				return "undoing all gives the beginning: " + d, w
			}
			return "", w
		}
		if err != nil || p.Problem != "" {
			return fmt.Sprintf("without others there is no conflict: %v %v", err, p), w
		}
		if err := w.do(p); err != nil {
			return err.Error(), w
		}
	}
	return "undoing comes to an end", w
}

func check(t *testing.T, alone bool) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") }
		if broken, w := live(draw, NoFault, alone); broken != "" {
			rt.Fatalf("%s\n%s", broken, w.story())
		}
	})
}

// TestLawsOfUndo: no byte of others is lost, a conflict writes nothing, undo then
// redo is the identity.
func TestLawsOfUndo(t *testing.T) { check(t, false) }

// TestLawsOfUndoAlone: besides, without others, there are no conflicts, and
// undoing everything gives the beginning.
func TestLawsOfUndoAlone(t *testing.T) { check(t, true) }

// TestLawsCatchFaults sees each law fail when planning is broken.
func TestLawsCatchFaults(t *testing.T) {
	for fault, law := range map[Fault]string{
		JoinAll:       "no byte of others is lost",
		LoseMode:      "undoing all gives the beginning",
		ForgetPartial: "a conflict writes nothing at all",
		ForgetTaken:   "undoing comes to an end",
	} {
		caught := ""
		tries := 0
		for ; tries < 20000 && caught == ""; tries++ {
			r := rand.New(rand.NewPCG(uint64(tries), 1))
			broken, _ := live(r.IntN, fault, fault == LoseMode || fault == ForgetTaken)
			if strings.HasPrefix(broken, law) {
				caught = broken
			}
		}
		if caught == "" {
			t.Errorf("fault %d is not caught", fault)
			continue
		}
		t.Logf("fault %d caught after %d histories: %.80s", fault, tries, caught)
	}
}

// TestLawsMeetFilesThatMoved: the histories of the laws have files that others moved without a
// word, and undos that follow them.
func TestLawsMeetFilesThatMoved(t *testing.T) {
	followed := 0
	for seed := range uint64(5000) {
		broken, w := live(rand.New(rand.NewPCG(seed, 2)).IntN, NoFault, false)
		if broken != "" {
			t.Fatalf("%d: %s\n%s", seed, broken, w.story())
		}
		followed += w.followed
	}
	if t.Logf("%d files followed", followed); followed < 20 {
		t.Errorf("only %d files were followed", followed)
	}
}

// TestAFileThatSomebodyMoved is named by a conflict, and is what --follow is about. One that is to
// go goes where it is the same only.
func TestAFileThatSomebodyMoved(t *testing.T) {
	body := "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
	for _, c := range []struct {
		name, pre, post, now, want string // want is what the file becomes; gone where it goes
		conflict                   string
	}{
		{"an edit", body, strings.Replace(body, "two", "2", 1), strings.Replace(body, "two", "2", 1), body, ""},
		{"edited since", body, strings.Replace(body, "two", "2", 1), strings.Replace(body, "two", "2", 1) + "mine\n",
			body + "mine\n", ""},
		{"edited there since", body, strings.Replace(body, "two", "2", 1), strings.Replace(body, "two", "mine", 1), "",
			"line 2 was changed since"},
		{"something else", body, strings.Replace(body, "two", "2", 1), "nothing of it\n", "", "it is gone"},
		{"made", "", body, body, "gone", ""},
		{"made and edited since", "", body, body + "mine\n", body + "mine\n", ""}, // stays: nothing is left of it at its path
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.files = map[string]*delta.Image{}
		var pre *delta.Image
		if c.pre != "" {
			pre = w.keep(delta.NewFile([]byte(c.pre), 0o644))
			w.files["/w/x"] = pre
		}
		_ = w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool},
			delta.Set{{Path: "/w/x", Pre: pre, Post: delta.NewFile([]byte(c.post), 0o644)}})
		delete(w.files, "/w/x")
		w.files["/w/elsewhere/y"] = w.keep(delta.NewFile([]byte(c.now), 0o644))
		like := c.conflict != "it is gone" && c.want != c.now // what is not told of is not much like it
		p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
		if err != nil || (p.Problem != "") != (like || c.conflict != "") {
			t.Errorf("%s: problem %q, error %v", c.name, p.Problem, err)
		}
		if like != (p.Files[0].Moved == "/w/elsewhere/y") || like && !strings.HasSuffix(p.Files[0].Note,
			"it is gone, and elsewhere/y is much like it") {
			t.Errorf("%s: %+v", c.name, p.Files)
		}
		if p, err = w.reader().plan(newBook(w.entries), Choice{Follow: true}, w.look()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.Problem, c.conflict) || (p.Problem == "") != (c.conflict == "") {
			t.Errorf("%s: followed: %q", c.name, p.Problem)
			continue
		}
		if p.Problem == "" {
			err = w.do(p)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		switch now := w.files["/w/elsewhere/y"]; {
		case c.conflict != "":
			if now == nil || string(now.Data) != c.now {
				t.Errorf("%s: a conflict wrote %v", c.name, now)
			}
		case c.want == "gone":
			if now != nil {
				t.Errorf("%s: it stays", c.name)
			}
		case now == nil || string(now.Data) != c.want:
			t.Errorf("%s: %v", c.name, now)
		}
		if p, err = w.reader().plan(newBook(w.entries), Choice{Conflicts: settle.Ours}, w.look()); c.conflict != "" &&
			(err != nil || p.Problem != "" || len(p.Set) > 0) {
			t.Errorf("%s: ours: %+v %v", c.name, p, err)
		}
	}
}

// TestUndoFollowsMoves takes an edit back in a file that was moved and edited since,
// and sees that a planner that forgets moves cannot.
func TestUndoFollowsMoves(t *testing.T) {
	for _, fault := range []Fault{NoFault, ForgetMoves} {
		w := newWorld(func(int) int { return 0 }, fault, true)
		edit := func(turn, path, old, next string) {
			now := w.files[path]
			post := delta.NewFile([]byte(strings.Replace(string(now.Data), old, next, 1)), now.Mode)
			_ = w.commit(ledger.Entry{Session: "s", Turn: turn, Cause: ledger.CauseTool},
				delta.Set{{Path: path, Pre: now, Post: post}})
		}
		edit("t1", "/w/a", "two", "2")
		a := w.files["/w/a"]
		_ = w.commit(ledger.Entry{Session: "s", Turn: "t2", Cause: ledger.CauseCommand, Certainty: ledger.Proven},
			delta.Set{{Path: "/w/a", Pre: a, To: "/w/z"}, {Path: "/w/z", Post: a, From: "/w/a"}})
		edit("t3", "/w/z", "seven", "7")
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t1"}, w.look())
		if err != nil {
			t.Fatal(err)
		}
		if fault == ForgetMoves {
			if p.Problem == "" {
				t.Error("the fault is not noticed")
			}
			continue
		}
		if err := w.do(p); err != nil || p.Problem != "" {
			t.Fatal(err, p.Problem)
		}
		if got, want := string(w.files["/w/z"].Data), "one\ntwo\nthree\nfour\nfive\nsix\n7\neight\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// story tells the ledger of a world.
func (w *world) story() string {
	var b strings.Builder
	for _, e := range w.entries {
		fmt.Fprintf(&b, "%d %s %s undoes %v only %v\n", e.Seq, e.Cause, e.Turn, e.Undoes, e.Only)
		for _, c := range e.Set() {
			fmt.Fprintf(&b, "  %s from %q to %q: %q -> %q\n", c.Path, c.From, c.To, w.text(c.Pre), w.text(c.Post))
		}
	}
	for _, p := range w.paths() {
		fmt.Fprintf(&b, "%s %o %q\n", p, w.files[p].Mode, w.files[p].Data)
	}
	return b.String()
}

func (w *world) text(i *delta.Image) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("%o %s", i.Mode, w.images[i.Sum])
}

// TestWhatCameBackStays: nobody saw who took lines out of a file while a command ran, and the
// command brought them back. An undo that leaves the first alone leaves the second, too, and
// takes back what else the command did.
func TestWhatCameBackStays(t *testing.T) {
	for _, fault := range []Fault{NoFault, TakeReturned} {
		w := newWorld(func(int) int { return 0 }, fault, true)
		change := func(certainty, path, next string) {
			now := w.files[path]
			post := delta.NewFile([]byte(next), now.Mode)
			_ = w.commit(ledger.Entry{Session: "s", Turn: "t1", Call: "c1", Cause: ledger.CauseCommand, Certainty: certainty},
				delta.Set{{Path: path, Pre: now, Post: post}})
		}
		mine := string(w.files["/w/a"].Data)
		change(ledger.Unproven, "/w/a", "other\n")
		change(ledger.Proven, "/w/a", mine)
		change(ledger.Proven, "/w/b", "the command's\n")
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t1"}, w.look())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.do(p); err != nil || p.Problem != "" {
			t.Fatal(err, p.Problem)
		}
		if stays := string(w.files["/w/a"].Data) == mine; stays != (fault == NoFault) {
			t.Errorf("with fault %d it holds %q", fault, w.files["/w/a"].Data)
		}
		if string(w.files["/w/b"].Data) == "the command's\n" || fault == NoFault && len(p.Left) != 2 {
			t.Errorf("with fault %d: b holds %q, left are %v", fault, w.files["/w/b"].Data, p.Left)
		}
	}
}

// TestALargeFileIsTakenBack: what is larger than the world has whole is taken back like all else, and
// no content of it is loaded. A merge loads it, up to a limit.
func TestALargeFileIsTakenBack(t *testing.T) {
	large := func(name string, size int64) *delta.Image {
		return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: 0o644, Size: size, Sum: delta.SumOf([]byte(name))}}
	}
	huge, other, third := large("huge", 2<<30), large("other", 2<<30), large("third", 2<<30)
	after := delta.NewFile([]byte("after\n"), 0o644)
	for name, c := range map[string]struct {
		pre, post, now *delta.Image
		lost           bool
		way            settle.Way
		want           FilePlan
		becomes        *delta.Image
	}{
		"made":              {nil, huge, huge, false, "", FilePlan{Outcome: Restored, Removed: true}, nil},
		"gone":              {huge, nil, nil, false, "", FilePlan{Outcome: Restored}, huge},
		"gone, not kept":    {huge, nil, nil, true, "", FilePlan{Outcome: Missing, Note: "its earlier content was not kept"}, nil},
		"changed":           {huge, other, other, false, "", FilePlan{Outcome: Restored}, huge},
		"another mode":      {huge, other, other.WithMode(0o600), false, "", FilePlan{Outcome: Merged, Note: laterKept}, huge.WithMode(0o600)},
		"was so already":    {huge, other, huge, false, "", FilePlan{Outcome: Unchanged}, nil},
		"changed since":     {huge, other, third, false, "", FilePlan{Outcome: Conflict, Note: "it was changed since in a way that cannot be merged"}, nil},
		"changed, ours":     {huge, other, third, false, settle.Ours, FilePlan{Outcome: Unchanged}, nil},
		"changed, theirs":   {huge, other, third, false, settle.Theirs, FilePlan{Outcome: Merged, Note: "what was changed in it since is gone"}, huge},
		"made from a small": {after, huge, huge, false, "", FilePlan{Outcome: Restored}, after},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.keep(after)
		delete(w.files, "/w/a")
		if w.files["/w/huge"] = c.pre; c.pre == nil {
			delete(w.files, "/w/huge")
		}
		for _, i := range []*delta.Image{huge, other, third} {
			w.verified[i.Sum] = !c.lost
		}
		_ = w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool}, delta.Set{{Path: "/w/huge", Pre: c.pre, Post: c.post}})
		if w.files["/w/huge"] = c.now; c.now == nil {
			delete(w.files, "/w/huge")
		}
		p, err := w.reader().plan(newBook(w.entries), Choice{Conflicts: c.way}, w.look())
		if err != nil {
			t.Fatal(err)
		}
		c.want.Path = "/w/huge"
		if diff := cmp.Diff([]FilePlan{c.want}, p.Files); diff != "" {
			t.Errorf("%s: %q\n%s", name, p.Problem, diff)
		}
		if is := len(p.Set) > 0; is != (c.becomes != nil || c.want.Removed) || is && !p.Set[0].Post.Same(c.becomes) {
			t.Errorf("%s: %+v", name, p.Set)
		}
	}
}

// TestAMergeOfWhatIsNotLoadedTakesTheRightContent: what a step is taken back from may be at another path, or
// only in the store, when the file at the path holds something else.
func TestAMergeOfWhatIsNotLoadedTakesTheRightContent(t *testing.T) {
	text := func(first, last string) *delta.Image {
		return delta.NewFile([]byte(first+"\n"+strings.Repeat("between\n", 9)+last+"\n"), 0o644)
	}
	a, b, mine, c := text("a", "a"), text("b", "a"), text("b", "mine"), text("c", "mine")
	for _, at := range []string{"/w/a", "/w/z", "/w/a, large", "/w/z, large"} {
		w := newWorld(func(int) int { return 0 }, NoFault, false)
		at, large := strings.CutSuffix(at, ", large")
		if large {
			w.whole = 10
		}
		w.files["/w/a"] = w.keep(a)
		own := func(set delta.Set) {
			if err := w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool}, set); err != nil {
				t.Fatal(err)
			}
		}
		own(delta.Set{{Path: "/w/a", Pre: a, Post: b}})
		w.files["/w/a"] = mine // by the user, and seen by nobody
		w.images[mine.Sum] = mine.Data
		if at == "/w/a" {
			own(delta.Set{{Path: at, Pre: mine, Post: c}})
		} else {
			own(delta.Set{{Path: "/w/a", Pre: mine, To: at}, {Path: at, Post: c, From: "/w/a"}})
		}
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t1"}, w.look())
		if err != nil || p.Problem != "" {
			t.Fatalf("%s, large %v: %v %q", at, large, err, p.Problem)
		}
		if err := w.do(p); err != nil || !w.files["/w/a"].Same(text("a", "mine")) || w.files["/w/z"] != nil {
			t.Errorf("%s, large %v: %v, %v", at, large, err, w.files)
		}
	}
}

// TestAMovedFileThatWasEditedIsMerged: the present content is where the file is now.
func TestAMovedFileThatWasEditedIsMerged(t *testing.T) {
	text := func(first, last string) *delta.Image {
		return delta.NewFile([]byte(first+"\n"+strings.Repeat("between\n", 9)+last+"\n"), 0o644)
	}
	a, b, now := text("a", "a"), text("b", "a"), text("b", "mine")
	for _, whole := range []int64{0, 10} {
		w := newWorld(func(int) int { return 0 }, NoFault, false)
		w.whole = whole
		w.files["/w/a"] = w.keep(a)
		if err := w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool},
			delta.Set{{Path: "/w/a", Pre: a, To: "/w/z"}, {Path: "/w/z", Post: b, From: "/w/a"}}); err != nil {
			t.Fatal(err)
		}
		w.files["/w/z"] = now // by the user; the store does not have it
		p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
		if err != nil || p.Problem != "" {
			t.Fatalf("whole %d: %v %q", whole, err, p.Problem)
		}
		if err := w.do(p); err != nil || !w.files["/w/a"].Same(text("a", "mine")) || w.files["/w/z"] != nil {
			t.Errorf("whole %d: %v, %v", whole, err, w.files)
		}
	}
}
