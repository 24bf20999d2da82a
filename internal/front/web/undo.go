package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/front/web/item"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
)

type field struct{ Name, Value string }

type way struct{ Value, Words string }

// ways are those to settle lines in conflict.
var ways = []way{{"", "write nothing"}, {"merge", "write both, with markers"}, {"ours", "leave them as they are now"},
	{"theirs", "take them back, too"}, {"skip", "leave such files alone"}}

type sideView struct {
	Path string
	Rows markup.HTML
}

type undoPage struct {
	Root, Headline, Verb, Way, Shown, Command string
	Report                                    Report
	Fields                                    []field
	Ways                                      []way
	Sides                                     []sideView
	Single, Conflicts, Unseen, Unproven       bool
	Choices, CanDo, Done                      bool
	Diff                                      *render.Diff
	DiffRows                                  markup.HTML
	DiffCut                                   int
	Damage                                    damageView
}

// choice reads what is to be taken back.
func choice(r *http.Request) (Choice, error) {
	c := Choice{Session: r.FormValue("session"), Turn: r.FormValue("turn"), Call: r.FormValue("call"),
		Redo: r.FormValue("redo") != "", Unproven: r.FormValue("unproven") != "", Conflicts: r.FormValue("conflicts")}
	if !slices.ContainsFunc(ways, func(w way) bool { return w.Value == c.Conflicts }) {
		return c, query.Misuse("conflicts: give merge, ours, theirs or skip")
	}
	n, err := query.Number(url.Values{"entry": {r.FormValue("entry")}}, "entry")
	c.Entry = int64(n)
	return c, err
}

// edits reads which single edits of the entry are meant: numbers of files and of edits in
// them, as the page of the edits counts.
func (s *Server) edits(r *http.Request, root string, c *Choice) error {
	marked := r.Form["edit"]
	switch {
	case len(marked) > 0:
	case r.Form.Has("single"):
		return query.Misuse("mark the edits to take back first")
	default:
		return nil
	}
	files, err := s.o.Data.Edits(r.Context(), root, c.Entry)
	if err != nil {
		return err
	}
	c.Edits = map[string][]int{}
	for _, m := range marked {
		file, edit, _ := strings.Cut(m, ".")
		i, err := strconv.Atoi(file)
		k, err2 := strconv.Atoi(edit)
		if err != nil || err2 != nil || i < 0 || i >= len(files) || k < 0 {
			return query.Misuse("edit=" + m + ": this change has no such edit to take back")
		}
		if !slices.Contains(c.Edits[files[i].Path], k) {
			c.Edits[files[i].Path] = append(c.Edits[files[i].Path], k)
		}
	}
	return nil
}

// undo shows what an undo would do, or does it: exactly what the page showed.
func (s *Server) undo(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return query.Misuse(err.Error())
	}
	root, _, err := s.root(r)
	if err != nil {
		return err
	}
	c, err := choice(r)
	if err != nil {
		return err
	}
	if err := s.edits(r, root, &c); err != nil {
		return err
	}
	p := undoPage{Root: root, Way: c.Conflicts, Unproven: c.Unproven, Ways: ways, Command: command(c),
		Single: len(c.Edits) > 0, Fields: fields(root, c)}
	for _, m := range r.Form["edit"] {
		p.Fields = append(p.Fields, field{"edit", m})
	}
	var confirm func(Report) bool
	agreed := false
	if r.Method == http.MethodPost {
		confirm = func(now Report) bool {
			agreed = r.PostFormValue("shown") == sumOf(now)
			return agreed
		}
	}
	if p.Report, err = s.o.Data.Undo(r.Context(), root, c, confirm); err != nil {
		return err
	}
	p.Done = agreed && p.Report.Problem == "" && !p.Report.Stale
	if p.Shown = sumOf(p.Report); confirm != nil && !p.Done {
		p.Report.Warnings = append(p.Report.Warnings,
			"Nothing was written: something changed since the page was made. This is what it would do now.")
	}
	if p.Damage, err = s.whole(r, root); err != nil {
		return err
	}
	p.finish(root, c)
	return s.render(w, r, "undo", p.Headline, p)
}

func (p *undoPage) finish(root string, c Choice) {
	verb := map[bool]string{false: "Undo", true: "Redo"}[c.Redo]
	p.Verb = verb
	p.Headline = "What " + strings.ToLower(verb) + " would do"
	if p.Done {
		p.Headline = map[bool]string{false: "Undone", true: "Redone"}[c.Redo]
	}
	for i, f := range p.Report.Files {
		p.Conflicts = p.Conflicts || f.Outcome == "conflict"
		p.Report.Files[i].Path = below(root, f.Path)
	}
	for i, l := range p.Report.Left {
		p.Report.Left[i].Path = below(root, l.Path)
	}
	for _, side := range p.Report.Sides {
		d := render.Parse(side.Diff)
		p.Sides = append(p.Sides, sideView{below(root, side.Path), d.Rows(0, item.MaxRows, false)})
	}
	p.Unseen = len(p.Report.Left) > 0 || p.Unproven
	p.Conflicts = p.Conflicts || p.Way != ""
	p.Choices = !p.Done && !p.Single && (p.Conflicts || p.Unseen)
	p.CanDo = !p.Done && p.Report.Problem == "" && len(p.Report.Files) > 0
	if p.Report.Diff != "" {
		p.Diff = render.Parse(p.Report.Diff)
		p.DiffRows = p.Diff.Rows(0, 4*item.MaxRows, false)
		p.DiffCut = max(0, p.Diff.Len(false)-4*item.MaxRows)
	}
}

// sumOf stands for a plan, so that an undo does what the page showed and nothing else.
func sumOf(r Report) string {
	b, _ := json.Marshal(r)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fields are a choice as a form sends it.
func fields(root string, c Choice) []field {
	all := []field{{"root", root}, {"session", c.Session}, {"turn", c.Turn}, {"call", c.Call}}
	if c.Entry > 0 {
		all = append(all, field{"entry", strconv.FormatInt(c.Entry, 10)})
	}
	if c.Redo {
		all = append(all, field{"redo", "1"})
	}
	return slices.DeleteFunc(all, func(f field) bool { return f.Value == "" })
}

// command is what does the same on the command line.
func command(c Choice) string {
	words := []string{"kerf", map[bool]string{false: "undo", true: "redo"}[c.Redo]}
	for _, f := range [][2]string{{"--session", c.Session}, {"--turn", c.Turn}, {"--call", c.Call}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	if c.Entry > 0 {
		words = append(words, "--entry", strconv.FormatInt(c.Entry, 10))
	}
	if c.Conflicts != "" {
		words = append(words, "--"+c.Conflicts)
	}
	if c.Unproven {
		words = append(words, "--unproven")
	}
	return strings.Join(words, " ")
}

// maxEdits is how many edits a page has.
const maxEdits = 300

type editChoice struct {
	Value, Label string
	Rows         markup.HTML
}

type editsPage struct {
	Entry  entryView
	Fields []field
	Files  []editsFile
	Left   int
}

type editsFile struct {
	Name  string
	Edits []editChoice
}

// chooseEdits shows the single edits of a change, to choose those that are taken back.
func (s *Server) chooseEdits(w http.ResponseWriter, r *http.Request) error {
	root, e, err := s.entry(r)
	if err != nil {
		return err
	}
	files, err := s.o.Data.Edits(r.Context(), root, e.Seq)
	if err != nil {
		return err
	}
	p := editsPage{Entry: view(root, e), Fields: fields(root, Choice{Entry: e.Seq})}
	n := 0
	for i, f := range files {
		file := editsFile{Name: below(root, f.Path)}
		for k, edit := range render.Edits(f.Diff) {
			if n++; n > maxEdits {
				p.Left++
				continue
			}
			file.Edits = append(file.Edits, editChoice{fmt.Sprintf("%d.%d", i, k), fmt.Sprintf("line %d", edit.Line), edit.Rows})
		}
		if len(file.Edits) > 0 {
			p.Files = append(p.Files, file)
		}
	}
	return s.render(w, r, "edits", fmt.Sprintf("Edits of change #%d", e.Seq), p)
}
