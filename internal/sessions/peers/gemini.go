package peers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// geminiSession is a file below ~/.gemini/tmp/PROJECT/chats: one object, or, in newer versions, lines
// that make one.
type geminiSession struct {
	Session     string          `json:"sessionId"`
	Project     string          `json:"projectHash"`
	Start       time.Time       `json:"startTime"`
	Directories []string        `json:"directories"`
	Kind        string          `json:"kind"` // "subagent" for one that another session started
	Messages    []geminiMessage `json:"messages"`
}

type geminiMessage struct {
	ID, Type, Model string
	Timestamp       time.Time
	Content         json.RawMessage
	ToolCalls       []struct {
		ID, Name, Status string
		Args             json.RawMessage
		Result           json.RawMessage
	}
	Thoughts []struct{ Subject, Description string }
	Tokens   *struct{ Input, Output, Cached, Thoughts int }
}

// readGemini reads a session in either form. A later line of the same id replaces an earlier one.
func readGemini(text []byte) (s geminiSession) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return s
		}
		var l struct {
			geminiMessage
			Session string          `json:"sessionId"`
			Rewind  *string         `json:"$rewindTo"`
			Set     json.RawMessage `json:"$set"`
		}
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		same := func(id string) func(geminiMessage) bool { return func(m geminiMessage) bool { return m.ID == id } }
		switch {
		case l.Rewind != nil:
			s.Messages = s.Messages[:max(0, slices.IndexFunc(s.Messages, same(*l.Rewind)))]
		case len(l.Set) > 0:
			_ = json.Unmarshal(l.Set, &s) // what is of another form stays as it was
		case l.Type == "" && l.Session != "":
			_ = json.Unmarshal(raw, &s)
		case l.ID != "":
			if i := slices.IndexFunc(s.Messages, same(l.ID)); i >= 0 {
				s.Messages[i] = l.geminiMessage
			} else {
				s.Messages = append(s.Messages, l.geminiMessage)
			}
		}
	}
}

func gemini(w *writer, path string, text []byte) error {
	s := readGemini(text)
	first := slices.IndexFunc(s.Messages, func(m geminiMessage) bool { return m.Type == "user" })
	if first < 0 || s.Kind == "subagent" {
		return ErrNone
	}
	w.at = s.Start
	w.begin(s.Session, s.cwd(path), "gemini", "")
	for _, m := range s.Messages[first:] {
		w.at = m.Timestamp
		switch m.Type {
		case "user":
			if said, images := geminiContent(m.Content); said != "" || len(images) > 0 {
				w.user(said, images)
			}
		case "gemini":
			m.answer(w)
		}
	}
	return nil
}

// answer writes what the model said: its thoughts, its words, its calls.
func (m geminiMessage) answer(w *writer) {
	w.uses(m.Model)
	for _, t := range m.Thoughts {
		w.thought(strings.TrimSpace("**" + t.Subject + "**\n" + t.Description))
	}
	if said, _ := geminiContent(m.Content); said != "" {
		w.assistant(said)
	}
	for _, c := range m.ToolCalls {
		w.call(c.ID, c.Name, c.Args)
	}
	for _, c := range m.ToolCalls {
		if c.Status == "success" || c.Status == "error" {
			text, _ := geminiContent(c.Result)
			w.output(c.ID, text, c.Status == "success")
		}
	}
	if t := m.Tokens; t != nil {
		w.tokens(t.Input, t.Cached, t.Output, t.Thoughts)
	}
}

// geminiContent are the texts and pictures of a content: a text, a part, or a list of these. The answer
// of a tool is a part, too.
func geminiContent(raw json.RawMessage) (string, []string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var texts, images []string
		for _, part := range list {
			t, i := geminiContent(part)
			if t != "" {
				texts = append(texts, t)
			}
			images = append(images, i...)
		}
		return strings.Join(texts, "\n"), images
	}
	var part struct {
		Text    string
		Thought bool
		Inline  *struct{ MimeType, Data string } `json:"inlineData"`
		Answer  *struct {
			Response map[string]json.RawMessage
		} `json:"functionResponse"`
	}
	if json.Unmarshal(raw, &part) != nil || part.Thought {
		return "", nil
	}
	switch {
	case part.Inline != nil && strings.HasPrefix(part.Inline.MimeType, "image/"):
		return "", []string{"data:" + part.Inline.MimeType + ";base64," + part.Inline.Data}
	case part.Answer != nil:
		for _, key := range []string{"output", "error"} {
			if json.Unmarshal(part.Answer.Response[key], &text) == nil {
				return text, nil
			}
		}
		b, _ := json.Marshal(part.Answer.Response) // it was read from JSON
		return string(b), nil
	}
	return part.Text, nil
}

// cwd is the directory of the session, of which the file itself has only a hash: what the directory of
// the project says, or a known project of that hash.
func (s geminiSession) cwd(path string) string {
	project := filepath.Dir(filepath.Dir(path))
	if root, err := os.ReadFile(filepath.Join(project, ".project_root")); err == nil && len(root) < 4096 {
		return strings.TrimSpace(string(root))
	}
	home := filepath.Dir(filepath.Dir(project))
	for _, name := range []string{"projects.json", "trustedFolders.json"} {
		var doc map[string]json.RawMessage
		text, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || json.Unmarshal(text, &doc) != nil {
			continue
		}
		if inner := doc["projects"]; len(inner) > 0 {
			_ = json.Unmarshal(inner, &doc) // its keys are looked at beside those around it
		}
		for dir := range doc {
			if sum := sha256.Sum256([]byte(dir)); hex.EncodeToString(sum[:]) == s.Project {
				return dir
			}
		}
	}
	if len(s.Directories) > 0 {
		return s.Directories[0]
	}
	return ""
}
