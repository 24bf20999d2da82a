package tools

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/edit"
)

//go:embed edit_file.md
var editFileWords string

func editFile() entry {
	return define.Tool[editArgs]{Name: "edit_file", Text: editFileWords, Plan: prepareEdit, Aliases: editAliases()}.Entry()
}

// prepareEdit plans the edits file by file, in memory, before anything is proposed.
func prepareEdit(ctx context.Context, env tool.Env, c tool.Call, a editArgs) (tool.Action, error) {
	list, err := a.replacements(c.Name)
	if err != nil {
		return nil, err
	}
	c.Manner.Short = c.Manner.Short && !a.asCode
	p := plan{env: env, manner: c.Manner, warnings: warnings(list), results: make([]map[string]any, len(list)),
		states: map[string]tool.FileState{}, change: tool.Change{BestEffort: a.TransactionMode == "best-effort"}}
	files, order, err := p.group(ctx, list)
	if err != nil {
		return nil, err
	}
	var observed []history.Observation
	for _, abs := range order {
		f := files[abs]
		r := f.refusal
		if r == nil {
			r = p.file(f)
		}
		if r == nil {
			continue
		}
		if r.saw != nil {
			observed = append(observed, *r.saw)
		}
		p.failed(f, r.err)
		if !p.change.BestEffort {
			break
		}
	}
	action, err := p.outcome(len(list), observed)
	return withResults(action, p, a.asCode), err
}

// warnings says what to warn of whatever comes of the edits, each thing once.
func warnings(list []replacement) []tool.Warning {
	var all []tool.Warning
	for _, r := range list {
		for _, w := range edit.Warnings(r.Replacement) {
			if t := (tool.Warning{Code: w.Code, Message: w.Message, Suggestion: w.Suggestion}); !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// plan is a change of files in the making.
type plan struct {
	env      tool.Env
	manner   tool.Manner
	versions bool // an edit names the version that it is for
	warnings []tool.Warning
	words    []string // one for each file that is changed
	brief    []string // the same where results are short
	states   map[string]tool.FileState
	results  []map[string]any // one for each edit
	change   tool.Change
}

// edited is a file with the edits that are meant for it.
type edited struct {
	target
	edits   []replacement
	nths    []int    // where the edits stand in the call
	refusal *refused // why it cannot be edited at all
	last    edit.Result
	count   int      // of passages replaced
	loose   []string // the levels at which passages matched that are not quoted exactly
}

// group finds the files of the edits, in the order of their first edit. A fault of
// the machine is an error; a refusal belongs to its file.
func (p *plan) group(ctx context.Context, list []replacement) (map[string]*edited, []string, error) {
	files := map[string]*edited{}
	var order []string
	for i, r := range list {
		t, err := look(p.env, "file_path", r.path, r.encoding)
		key := t.abs
		t.manner, p.versions = p.manner, p.versions || r.want.given()
		var refusal *refused
		switch e, ok := asRefusal(err); {
		case ok:
			key, t.name = r.path, r.path
			refusal = &refused{err: &tool.Error{Code: e.Code, Message: r.label + e.Message}}
		case err != nil:
			return nil, nil, err
		case t.disk == nil:
			e := t.missing(ctx, p.env)
			e.Message = r.label + e.Message
			if unmet := r.want.unmet(t); unmet != "" {
				e.Code = tool.VersionMismatch
				e.Message += " (expected " + unmet + ")"
			}
			refusal = &refused{err: e}
		}
		f := files[key]
		if f == nil {
			f = &edited{target: t, refusal: refusal}
			files[key] = f
			order = append(order, key)
		}
		f.edits, f.nths = append(f.edits, r), append(f.nths, i)
	}
	return files, order, nil
}

// file plans the edits of one file, all of them or none.
func (p *plan) file(f *edited) *refused {
	base, stale := f.known(p.env)
	told := false // the model named the very state that is there
	for _, r := range f.edits {
		if unmet := r.want.unmet(f.target); unmet != "" {
			return f.mismatch("is not at the expected "+unmet+".", base, f.place(r))
		}
		told = told || r.want.given()
	}
	content, reports, note, refusal := f.disk.Data, []string(nil), "", (*refused)(nil)
	if stale && !told {
		content, reports, note, refusal = f.applyStale(base)
	} else {
		content, reports, refusal = f.apply(content, false)
	}
	if refusal != nil {
		return refusal
	}
	p.change.Set = append(p.change.Set, delta.Change{Path: f.abs, Pre: f.disk, Post: f.image(content)})
	compared := excerpt.Compare(f.plain(f.disk.Data), f.plain(content))
	p.states[f.name] = compared.State(content)
	p.change.Merged = p.change.Merged || strings.Contains(note, "merged")
	p.words = append(p.words, fmt.Sprintf("Edited %s: %s.%s", f.name, strings.Join(reports, "; "), note))
	p.brief = append(p.brief, fmt.Sprintf("Edited %s: %s.%s", f.name, f.told(compared), note))
	for _, n := range f.nths {
		p.results[n] = map[string]any{"success": true, "filePath": f.name}
	}
	return nil
}

// told says in short what the edits made of the file, and whether one was taken loosely.
func (f *edited) told(compared excerpt.Comparison) string {
	words := compared.Change()
	for _, l := range f.loose {
		words += fmt.Sprintf(" (matched at level %s)", l)
	}
	return words
}

// image is the file with content, which the last edit may have made.
func (f *edited) image(content []byte) *delta.Image {
	if made := f.last.Content; len(made) > 0 && len(made) == len(content) && &made[0] == &content[0] {
		return f.last.Image(f.disk.Mode)
	}
	return delta.NewFile(content, f.disk.Mode)
}

// place returns the lines of the present text that an edit would change, if it
// would find any.
func (f *edited) place(r replacement) tool.LineRange {
	r.Charset = f.charset
	res, err := edit.Apply(f.disk.Data, r.Replacement)
	if err != nil {
		return tool.LineRange{}
	}
	changed := excerpt.Regions(f.plain(res.Content), f.plain(f.disk.Data))
	if len(changed) == 0 {
		return tool.LineRange{}
	}
	return tool.LineRange{Start: changed[0].Start, End: changed[len(changed)-1].End}
}

// apply makes the edits in content, one after the other. With strict every passage
// has to stand there exactly and once.
func (f *edited) apply(content []byte, strict bool) ([]byte, []string, *refused) {
	var reports []string
	f.loose, f.count = nil, 0
	for _, r := range f.edits {
		r.Charset = f.charset
		res, err := edit.Apply(content, r.Replacement)
		var e *edit.Error
		switch {
		case errors.As(err, &e):
			return nil, nil, &refused{err: &tool.Error{Code: e.Code, Message: r.label + f.subject() + e.Message}}
		case r.count > 0 && res.Count != r.count:
			return nil, nil, &refused{err: tool.Refuse(tool.Ambiguous,
				"%sold_string occurs %d times in %s, but %d replacements are expected; give the right number, or quote more of "+
					"the text",
				r.label, res.Count, f.name, r.count)}
		case strict && (res.Level != "exact" || res.Count != 1):
			return nil, nil, &refused{err: tool.Refuse(tool.NotFound, "not there exactly")}
		}
		content, f.last = res.Content, res
		f.count += res.Count
		if res.Level != "exact" && !slices.Contains(f.loose, res.Level) {
			f.loose = append(f.loose, res.Level)
		}
		reports = append(reports, report(res))
	}
	return content, reports, nil
}

// subject names the file in a refusal.
func (f *edited) subject() string { return f.name + ": " }

// report says what one edit did.
func report(res edit.Result) string {
	var b strings.Builder
	if res.Count == 1 {
		b.WriteString("replaced 1 passage at ")
	} else {
		fmt.Fprintf(&b, "replaced %d passages at ", res.Count)
	}
	var words []string
	for i, r := range res.Ranges {
		if i > 0 && r == res.Ranges[i-1] {
			continue
		}
		if len(words) == 10 {
			words = append(words, fmt.Sprintf("and %d more", len(res.Ranges)-i))
			break
		}
		words = append(words, excerpt.Span(tool.LineRange(r)))
	}
	b.WriteString(strings.Join(words, ", "))
	if res.Level != "exact" {
		fmt.Fprintf(&b, " (matched at level %s)", res.Level)
	}
	return b.String()
}

// applyStale makes the edits although the file changed since the model last saw it:
// in what it saw, merged with what is there now. Where that is not possible, a
// passage that stands there now, exactly and once, is still what was meant.
func (f *edited) applyStale(base *delta.Image) ([]byte, []string, string, *refused) {
	const elsewhere = " The file had changed elsewhere since you last saw it; read it again before you go on."
	if !base.Loaded || f.binary(base.Data) || f.binary(f.disk.Data) {
		content, reports, refusal := f.apply(f.disk.Data, true)
		if refusal != nil {
			return nil, nil, "", f.mismatch("changed since you last saw it.", base, f.place(f.edits[0]))
		}
		return content, reports, elsewhere, nil
	}
	ours, _, refusal := f.apply(base.Data, false)
	if refusal != nil {
		// It may have seen the present text by other means, from a command perhaps.
		content, reports, now := f.apply(f.disk.Data, false)
		if now != nil {
			now.err.Message += " (The file changed since you last saw it; re-read with read_file.)"
			return nil, nil, "", now
		}
		return content, reports, elsewhere, nil
	}
	joined, ok := f.merged(base.Data, ours)
	if !ok {
		was, is := f.plain(base.Data), f.plain(f.disk.Data)
		changed := excerpt.Regions(f.plain(ours), was)
		there := tool.LineRange{Start: 1, End: 1}
		if len(changed) > 0 {
			there = excerpt.Across(was, is, tool.LineRange{Start: changed[0].Start, End: changed[len(changed)-1].End})
		}
		return nil, nil, "", f.mismatch("changed since you last saw it, in the same place.", base, there)
	}
	if string(joined) == string(f.disk.Data) {
		return nil, nil, "", &refused{
			err: tool.Refuse(tool.NoChange, "%s changed since you last saw it and already has this edit; nothing was written",
				f.name),
			saw: &history.Observation{Path: pathname.Path(f.abs), Image: f.disk},
		}
	}
	there := edit.Result{Count: f.count, Level: cmp.Or(strings.Join(f.loose, " and "), "exact")}
	for _, r := range excerpt.Regions(f.plain(f.disk.Data), f.plain(joined)) {
		there.Ranges = append(there.Ranges, edit.Range(r))
	}
	return joined, []string{report(there)}, " The file had changed since you last saw it; the edit was merged with the newer text at " +
		excerpt.Moved(f.plain(ours), f.plain(joined)) + ".", nil
}

// failed notes that a file cannot be edited as asked.
func (p *plan) failed(f *edited, e *tool.Error) {
	p.change.Failures = append(p.change.Failures, tool.Failure{Path: f.name, Err: e})
	for _, n := range f.nths {
		p.results[n] = map[string]any{"success": false, "filePath": f.name,
			"error": map[string]any{"code": e.Code, "message": e.Message}}
	}
}

// outcome is the action that the plan comes to.
func (p *plan) outcome(edits int, observed []history.Observation) (tool.Action, error) {
	p.change.Result = excerpt.Result(p.manner, strings.Join(p.words, "\n"), strings.Join(p.brief, "\n"), p.states,
		p.versions)
	p.change.Result.Warnings = p.warnings
	if len(p.change.Failures) == 0 || p.change.BestEffort && len(p.change.Set) > 0 {
		return p.change, nil
	}
	e := *p.change.Failures[0].Err
	if edits > 1 {
		e.Message += "\nNone of the edits was made."
	}
	for _, f := range p.change.Failures[1:] {
		e.Message += fmt.Sprintf("\n%s: %s", f.Err.Code, f.Err.Message)
	}
	return tool.Answer{Result: tool.Result{Error: &e, Warnings: p.warnings}, Observed: observed}, nil
}

// withResults adds the outcome of each edit, as edit_code tells it.
func withResults(action tool.Action, p plan, asCode bool) tool.Action {
	if !asCode {
		return action
	}
	for i, r := range p.results {
		if r == nil {
			p.results[i] = map[string]any{"success": false}
		}
	}
	if len(p.change.Failures) > 0 && !p.change.BestEffort {
		for _, r := range p.results {
			r["success"] = false
		}
	}
	fields := map[string]any{"results": p.results}
	switch a := action.(type) {
	case tool.Change:
		a.Result.Fields = fields
		return a
	case tool.Answer:
		a.Result.Fields = fields
		return a
	}
	return action
}
