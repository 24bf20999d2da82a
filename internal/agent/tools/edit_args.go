package tools

import (
	"fmt"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/text/edit"
)

// matching says how the strings of one edit are to be taken.
type matching struct {
	ReplaceAll    bool   `json:"replace_all,omitempty" doc:"Replace every occurrence instead of exactly one."`
	Normalization string `json:"normalization,omitempty" enum:"exact,line-endings,trailing,indentation,whitespace,structural" doc:"How loosely old_string may match (default line-endings). The last three are risky."`
	EscapeMode    string `json:"escapeMode,omitempty" enum:"literal,interpreted" doc:"interpreted: \\n, \\t, \\\", \\\\ and \\uXXXX in the strings are decoded. Default literal."`
	BeforeContext string `json:"beforeContext,omitempty" doc:"Text that stands right before the place, apart from white space."`
	AfterContext  string `json:"afterContext,omitempty" doc:"Text that stands right after the place, apart from white space."`
	Expectation
}

type editItem struct {
	FilePath  string `json:"file_path,omitempty" doc:"The file, if not the one of the call."`
	OldString string `json:"old_string" doc:"The text to replace, as it stands in the file."`
	NewString string `json:"new_string" doc:"The text to put there."`
	matching
}

type editArgs struct {
	FilePath  string  `json:"file_path,omitempty" also:"path,file,filename,absolute_path,target_file" brief:"required" doc:"The file to edit. Relative paths start at the working directory."`
	OldString *string `json:"old_string,omitempty" also:"old_str,old_text,oldText,search" brief:"required" doc:"The text to replace, as it stands in the file."`
	NewString *string `json:"new_string,omitempty" also:"new_str,new_text,newText,replace" brief:"required" doc:"The text to put there."`
	matching
	Encoded
	Edits           []editItem `json:"edits,omitempty" doc:"Several edits, made in order, instead of old_string and new_string."`
	TransactionMode string     `json:"transactionMode,omitempty" enum:"all-or-nothing,best-effort" doc:"all-or-nothing (default), or best-effort: file by file."`

	occurrences int  // exactly so many are replaced, 0 for any number
	asCode      bool // answer as edit_code does
}

// replacement is one edit, whatever shape it came in.
type replacement struct {
	label    string // how refusals name it, empty when it is the only one
	path     string
	encoding string
	edit.Replacement
	want  Expectation
	count int // so many occurrences are expected, 0 for any number
}

func (m matching) replacement(path, old, new string) replacement {
	return replacement{path: path, want: m.Expectation,
		Replacement: edit.Replacement{Old: old, New: new, All: m.ReplaceAll,
			Normalization: m.Normalization, EscapeMode: m.EscapeMode, Before: m.BeforeContext, After: m.AfterContext}}
}

// replacements lists the edits of a call, or says which field is missing.
func (a editArgs) replacements(name string) ([]replacement, error) {
	missing := func(field string) error {
		return tool.Refuse(tool.InvalidArguments,
			"%s: missing field %s (a string); give file_path, old_string and new_string, or edits", name, field)
	}
	if len(a.Edits) == 0 {
		switch {
		case a.Edits != nil:
			return nil, tool.Refuse(tool.InvalidArguments, "%s: field edits: expected at least one edit, found none", name)
		case a.FilePath == "":
			return nil, missing("file_path")
		case a.OldString == nil:
			return nil, missing("old_string")
		case a.NewString == nil:
			return nil, missing("new_string")
		}
		r := a.replacement(a.FilePath, *a.OldString, *a.NewString)
		r.count, r.encoding = a.occurrences, a.Encoding
		return []replacement{r}, nil
	}
	if a.OldString != nil && *a.OldString != "" || a.NewString != nil && *a.NewString != "" {
		return nil, tool.Refuse(tool.InvalidArguments, "%s: expected either edits or old_string and new_string, found both",
			name)
	}
	list := make([]replacement, len(a.Edits))
	for i, e := range a.Edits {
		m := e.matching
		m.Expectation = m.or(a.Expectation)
		if e.FilePath == "" {
			e.FilePath = a.FilePath
		}
		if e.FilePath == "" {
			return nil, missing(fmt.Sprintf("edits[%d].file_path", i))
		}
		list[i] = m.replacement(e.FilePath, e.OldString, e.NewString)
		list[i].encoding = a.Encoding
		if len(a.Edits) > 1 {
			list[i].label = fmt.Sprintf("edits[%d]: ", i)
		}
	}
	return list, nil
}

// editAliases are the shapes of edits that models were trained on.
func editAliases() []define.Alias[editArgs] {
	type simple struct {
		OldString  string `json:"old_string"`
		NewString  string `json:"new_string"`
		ReplaceAll bool   `json:"replace_all,omitempty"`
	}
	return []define.Alias[editArgs]{
		define.Same[editArgs]("edit"),
		define.As("Edit", func(a struct {
			FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file"`
			simple
		}) (editArgs, error) {
			return editArgs{FilePath: a.FilePath, OldString: &a.OldString, NewString: &a.NewString,
				matching: matching{ReplaceAll: a.ReplaceAll}}, nil
		}),
		define.As("MultiEdit", func(a struct {
			FilePath string   `json:"file_path" also:"path,file,filename,absolute_path,target_file"`
			Edits    []simple `json:"edits"`
		}) (editArgs, error) {
			out := editArgs{FilePath: a.FilePath, Edits: []editItem{}}
			for _, e := range a.Edits {
				out.Edits = append(out.Edits, editItem{OldString: e.OldString, NewString: e.NewString,
					matching: matching{ReplaceAll: e.ReplaceAll}})
			}
			return out, nil
		}),
		define.As("replace", func(a struct {
			FilePath    string `json:"file_path" also:"path,file,filename,absolute_path,target_file"`
			OldString   string `json:"old_string"`
			NewString   string `json:"new_string"`
			Expected    *int   `json:"expected_replacements,omitempty" min:"1"`
			Instruction string `json:"instruction,omitempty"`
		}) (editArgs, error) {
			out := editArgs{FilePath: a.FilePath, OldString: &a.OldString, NewString: &a.NewString}
			if a.Expected != nil && *a.Expected > 1 {
				out.ReplaceAll, out.occurrences = true, *a.Expected
			}
			return out, nil
		}),
		define.As("edit_code", codeEdits),
	}
}

type codeArgs struct {
	Edits []struct {
		FilePath          string `json:"filePath"`
		TargetString      string `json:"targetString"`
		ReplacementString string `json:"replacementString"`
		EscapeMode        string `json:"escapeMode,omitempty" enum:"literal,interpreted"`
		Normalization     string `json:"normalization,omitempty" enum:"exact,line-endings,trailing,indentation,whitespace,structural"`
		BeforeContext     string `json:"beforeContext,omitempty"`
		AfterContext      string `json:"afterContext,omitempty"`
	} `json:"edits"`
	FileVersions    map[string]Expectation `json:"fileVersions,omitempty"`
	TransactionMode string                 `json:"transactionMode,omitempty" enum:"all-or-nothing,best-effort"`
}

func codeEdits(a codeArgs) (editArgs, error) {
	out := editArgs{TransactionMode: a.TransactionMode, asCode: true, Edits: []editItem{}}
	named := map[string]bool{}
	for _, e := range a.Edits {
		named[e.FilePath] = true
		out.Edits = append(out.Edits, editItem{FilePath: e.FilePath, OldString: e.TargetString,
			NewString: e.ReplacementString,
			matching: matching{EscapeMode: e.EscapeMode, Normalization: e.Normalization, BeforeContext: e.BeforeContext,
				AfterContext: e.AfterContext, Expectation: a.FileVersions[e.FilePath]}})
	}
	for path := range a.FileVersions {
		if !named[path] {
			return out, tool.Refuse(tool.InvalidArguments,
				"edit_code: field fileVersions: expected only files that edits name, found %s", clip(path))
		}
	}
	return out, nil
}
