package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kerf/internal/text/lines"
	"kerf/internal/work/ledger"
)

// maxBlame is the largest file that is blamed.
const maxBlame = 64 << 20

// BlameLine tells where a line of a file comes from. Origin is "kerf", "unproven" (it
// came while the command of the entry ran, and nobody saw who wrote it), "other" or
// "unknown"; the rest is known of the first two only.
type BlameLine struct {
	Line      int        `json:"line"`
	Text      string     `json:"text"`
	Origin    string     `json:"origin"`
	Seq       int64      `json:"seq,omitempty"`
	Time      *time.Time `json:"time,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Certainty string     `json:"certainty,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Client    string     `json:"client,omitempty"`
	Session   string     `json:"session,omitempty"`
	Turn      string     `json:"turn,omitempty"`
	Call      string     `json:"call,omitempty"`
	// Prompt is what the user asked for, which the ledger does not know.
	Prompt string `json:"prompt,omitempty"`
}

// BlameFile tells of each line of the file at path, which is absolute, where it
// comes from. A link is followed.
func (r Reader) BlameFile(path string) ([]BlameLine, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = filepath.ToSlash(target)
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxBlame:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are blamed", path, st.Size(), maxBlame)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	origins, err := r.Blame(path, content)
	if err != nil {
		return nil, err
	}
	var list []BlameLine
	for i, text := range lines.Split(content) {
		list = append(list, blameLine(i, string(text), origins[i]))
	}
	return list, nil
}

func blameLine(i int, text string, o Origin) BlameLine {
	l := BlameLine{Line: i + 1, Text: text, Origin: "other"}
	switch e := o.Entry; {
	case e != nil:
		l.Origin, l.Seq, l.Time, l.Cause, l.Tool, l.Client = "kerf", e.Seq, &e.Time, e.Cause, e.Tool, e.Client
		l.Session, l.Turn, l.Call, l.Certainty = e.Session, e.Turn, e.Call, e.Known()
		if l.Certainty != ledger.Proven {
			l.Origin = "unproven"
		}
	case o.Unknown:
		l.Origin = "unknown"
	}
	return l
}
