package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/cespare/xxhash/v2"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
)

// disk is a machine in memory. Its workspace is /w.
type disk struct {
	files    map[string]*delta.Image
	seen     map[string]*delta.Image
	versions map[string]int
	manner   tool.Manner
}

func newDisk(files map[string]string) *disk {
	d := &disk{files: map[string]*delta.Image{}, seen: map[string]*delta.Image{}, versions: map[string]int{}}
	for name, content := range files {
		d.put(name, content)
	}
	return d
}

func abs(name string) string {
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	return path.Join("/w", name)
}

// put changes a file behind the model's back.
func (d *disk) put(name, content string) {
	d.files[abs(name)] = delta.NewFile([]byte(content), 0o640)
	d.versions[abs(name)]++
}

func (d *disk) text(name string) string {
	if i := d.files[abs(name)]; i != nil {
		return string(i.Data)
	}
	return "(nothing)"
}

func (d *disk) hash(name string) string {
	return fmt.Sprintf("%016x", xxhash.Sum64(d.files[abs(name)].Data))
}

func (d *disk) Cwd() string { return "/w" }

func (d *disk) Resolve(name string) (string, error) {
	p := abs(name)
	if p != "/w" && !strings.HasPrefix(p, "/w/") {
		return "", tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace", name)
	}
	return p, nil
}

func (d *disk) Read(p string) (*delta.Image, tool.Stamp, error) {
	img := d.files[p]
	if img == nil {
		for name := range d.files {
			if strings.HasPrefix(name, p+"/") {
				return nil, tool.Stamp{}, tool.Refuse(tool.NotAFile, "%s is a directory. Use list_dir to see what is in it", p)
			}
		}
		return nil, tool.Stamp{}, nil
	}
	facts := lines.Facts(img.Data)
	ending := facts.Ending
	if ending == "" {
		ending = "lf"
	}
	return img, tool.Stamp{Version: d.versions[p], ContentHash: fmt.Sprintf("%016x", xxhash.Sum64(img.Data)),
		LineEnding: ending, Encoding: facts.Encoding}, nil
}

func (d *disk) Seen(p string) (*delta.Image, bool) {
	img, ok := d.seen[p]
	return img, ok
}

// forget drops the bytes of what the model last saw.
func (d *disk) forget(name string) {
	img := *d.seen[abs(name)]
	img.Data, img.Loaded = nil, false
	d.seen[abs(name)] = &img
}

func (d *disk) names() []string {
	var all []string
	for p := range d.files {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

func (d *disk) List(_ context.Context, dir string, depth, limit int) ([]tool.Entry, bool, error) {
	set := map[string]bool{}
	for _, p := range d.names() {
		rel, ok := strings.CutPrefix(p, dir+"/")
		if !ok {
			continue
		}
		parts := strings.Split(rel, "/")
		for i := range parts {
			if i >= depth {
				break
			}
			entry := strings.Join(parts[:i+1], "/")
			if i+1 < len(parts) {
				entry += "/"
			}
			set[entry] = true
		}
	}
	var entries []tool.Entry
	for name := range set {
		entries = append(entries, tool.Entry{Path: name})
	}
	slices.SortFunc(entries, func(a, b tool.Entry) int { return strings.Compare(a.Path, b.Path) })
	more := len(entries) > limit
	return entries[:min(limit, len(entries))], more, nil
}

func (d *disk) Glob(_ context.Context, dir, pattern string, limit int) ([]string, bool, error) {
	var found []string
	for _, p := range d.names() {
		rel, ok := strings.CutPrefix(p, dir+"/")
		match, err := doublestar.Match(pattern, rel)
		if err != nil {
			return nil, false, tool.Refuse(tool.InvalidArguments, "%v", err)
		}
		if ok && match {
			found = append(found, p)
		}
	}
	return found[:min(limit, len(found))], len(found) > limit, nil
}

func (d *disk) Grep(_ context.Context, q tool.Query) ([]tool.Line, tool.Missed, error) {
	re, err := regexp.Compile(q.Pattern)
	if err != nil {
		return nil, tool.Missed{}, err
	}
	var found []tool.Line
	for _, p := range d.names() {
		if p != q.Dir && !strings.HasPrefix(p, q.Dir+"/") {
			continue
		}
		all := strings.Split(strings.TrimSuffix(d.text(p), "\n"), "\n")
		for i, l := range all {
			near := false
			for j := max(0, i-q.Context); j <= min(len(all)-1, i+q.Context); j++ {
				near = near || re.MatchString(all[j])
			}
			if near {
				found = append(found, tool.Line{Path: p, Number: i + 1, Text: l, Match: re.MatchString(l)})
			}
		}
	}
	return found[:min(q.Limit, len(found))], tool.Missed{More: len(found) > q.Limit}, nil
}

// prepare makes a call.
func (d *disk) prepare(name, args string) (tool.Action, error) {
	t, ok := tools.Lookup(name)
	if !ok {
		return nil, errors.New("no tool " + name)
	}
	return t.Prepare(context.Background(), d, tool.Call{ID: "1", Name: name, Args: json.RawMessage(args),
		Manner: d.manner})
}

// call makes a call and does with the action what a session does. It returns the
// result; refusals are in its Error.
func (d *disk) call(t *testing.T, name, args string) tool.Result {
	t.Helper()
	action, err := d.prepare(name, args)
	if err != nil {
		var refusal *tool.Error
		if !errors.As(err, &refusal) {
			t.Fatalf("%s %s: %v is not a refusal", name, args, err)
		}
		return tool.Result{Error: refusal}
	}
	switch a := action.(type) {
	case tool.Answer:
		for _, s := range a.Observed {
			d.seen[string(s.Path)] = s.Image
		}
		return a.Result
	case tool.Change:
		return d.commit(t, a)
	}
	t.Fatalf("%s %s proposes %#v", name, args, action)
	return tool.Result{}
}

func (d *disk) commit(t *testing.T, a tool.Change) tool.Result {
	t.Helper()
	for _, c := range a.Set {
		if !d.files[c.Path].Same(c.Pre) {
			t.Fatalf("%s is not what the change was made for", c.Path)
		}
	}
	for _, c := range a.Set {
		d.seen[c.Path] = c.Post
		if d.versions[c.Path]++; c.Post == nil {
			delete(d.files, c.Path)
			continue
		}
		d.files[c.Path] = c.Post
	}
	a.Result.Success = len(a.Failures) == 0
	for name, s := range a.Result.UpdatedStates {
		if img := d.files[abs(name)]; img != nil {
			s.NewVersion, s.NewHash = d.versions[abs(name)], d.hash(name)
		}
		a.Result.UpdatedStates[name] = s
	}
	if len(a.Failures) > 0 {
		a.Result.Error = a.Failures[0].Err
	}
	return a.Result
}

// show is a result as a golden file has it.
func show(r tool.Result) string {
	var b strings.Builder
	if r.Error != nil {
		b.WriteString(r.Error.Error() + "\n")
	}
	if r.Output != "" {
		b.WriteString(r.Output + "\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning %s: %s; %s\n", w.Code, w.Message, w.Suggestion)
	}
	if len(r.UpdatedStates) > 0 && !r.Short {
		states, _ := json.Marshal(r.UpdatedStates)
		fmt.Fprintf(&b, "updatedFileStates: %s\n", states)
	}
	return b.String()
}

// args makes arguments of pairs.
func args(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
