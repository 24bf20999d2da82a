package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/edit"
	"kerf/internal/config/trust"
)

// RulesFile is one file of command rules. Package config does not know its format.
type RulesFile struct {
	Path string
	// Layer is "system", "user" or "project".
	Layer string
	Data  []byte
}

// ownRules is the file that rules from a prompt go to.
const ownRules = "default.rules"

// RulesFiles reads the *.rules files: the administrator's, the user's, and, when
// the project is trusted, those of its .kerf/rules directories from root to working
// directory.
func (c *Config) RulesFiles(trusted bool) ([]RulesFile, error) {
	return c.rulesFiles(filepath.Dir(systemFile(os.Getenv)), trusted)
}

// rulesFiles is RulesFiles with the administrator's directory, "." for none.
func (c *Config) rulesFiles(system string, trusted bool) ([]RulesFile, error) {
	var files []RulesFile
	for _, at := range []struct{ layer, dir string }{
		{"system", filepath.Join(system, "rules")}, {"user", filepath.Join(c.Home, "rules")}} {
		if at.dir == "rules" {
			continue
		}
		found, err := rulesIn(at.dir, at.layer, os.ReadFile)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if !trusted {
		return files, nil
	}
	for _, dir := range trust.Chain(c.Root, c.Cwd) {
		if trust.IsHome(dir, c.Home) || trust.HeldFree(dir) {
			continue
		}
		found, err := rulesIn(filepath.Join(dir, ".kerf", "rules"), "project", func(path string) ([]byte, error) {
			return trust.ReadBeneath(dir, ".kerf/rules/"+filepath.Base(path))
		})
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func rulesIn(dir, layer string, read func(string) ([]byte, error)) ([]RulesFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &document.Error{File: dir, Message: document.Cause(err)}
	}
	var files []RulesFile
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".rules" || e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := read(path)
		if err != nil {
			return nil, &document.Error{File: path, Message: document.Cause(err)}
		}
		if len(data) > document.MaxFile {
			return nil, &document.Error{File: path, Message: "is too large"}
		}
		files = append(files, RulesFile{path, layer, data})
	}
	return files, nil
}

// AddRule appends a line to the user's own rules; a line that is there already is
// not repeated.
func AddRule(home, line string) error {
	if strings.ContainsAny(line, "\r\n") {
		return fmt.Errorf("add rule: a rule is one line")
	}
	return edit.Rewrite(filepath.Join(home, "rules", ownRules), func(doc []byte) ([]byte, error) {
		if slices.ContainsFunc(bytes.Split(doc, []byte("\n")), func(l []byte) bool { return string(l) == line }) {
			return doc, nil
		}
		if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
			doc = append(bytes.Clone(doc), '\n')
		}
		return append(bytes.Clone(doc), line+"\n"...), nil
	})
}

// HasRule reports whether a line is among the user's own rules.
func HasRule(home, line string) bool {
	doc, err := os.ReadFile(filepath.Join(home, "rules", ownRules))
	return err == nil && slices.Contains(strings.Split(string(doc), "\n"), line)
}

// RemoveRule takes line number n and the indented lines below it out of a rules
// file. Want is what the line has to be.
func RemoveRule(file string, n int, want string) error {
	return edit.Rewrite(file, func(doc []byte) ([]byte, error) {
		lines := strings.SplitAfter(string(doc), "\n")
		if n < 1 || n > len(lines) || strings.TrimSpace(lines[n-1]) != strings.TrimSpace(want) {
			return nil, fmt.Errorf("line %d has changed meanwhile", n)
		}
		end := n
		for end < len(lines) && strings.TrimSpace(lines[end]) != "" && strings.IndexByte(" \t", lines[end][0]) >= 0 {
			end++
		}
		return []byte(strings.Join(append(lines[:n-1:n-1], lines[end:]...), "")), nil
	})
}
