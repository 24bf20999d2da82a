package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// bill writes what a program is made of, as its own build information tells, in the
// format of CycloneDX 1.6.
func (r *release) bill(program, name string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl,omitempty"`
		Ref     string `json:"bom-ref"`
	}
	of := func(path, version string) component {
		purl := "pkg:golang/" + path + "@" + version
		return component{"library", path, version, purl, purl}
	}
	list := []component{of("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, of(m.Path, m.Version))
	}
	all := make([]string, 0, len(list))
	for _, c := range list {
		all = append(all, c.Ref)
	}
	return name, r.write(name, map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"timestamp": r.date.Format(time.RFC3339),
			"component": component{"application", "kerf", r.version, "", "kerf"}},
		"components":   list,
		"dependencies": []any{map[string]any{"ref": "kerf", "dependsOn": all}},
	})
}

// describe writes checksums, provenance and the formula for what was made.
func (r *release) describe(made []string) ([]string, error) {
	sums := map[string]string{}
	for _, name := range made {
		sum, err := r.sum(name)
		if err != nil {
			return nil, err
		}
		sums[name] = sum
	}
	more := []string{"provenance.json"}
	if err := r.write("provenance.json", r.provenance(made, sums)); err != nil {
		return nil, err
	}
	if len(r.targets) == len(targets) {
		if err := r.formula(sums); err != nil {
			return nil, err
		}
		more = append(more, "kerf.rb")
	}
	for _, name := range more {
		sum, err := r.sum(name)
		if err != nil {
			return nil, err
		}
		sums[name] = sum
	}
	var lines []string
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	text := []byte(strings.Join(lines, ""))
	return append(more, "SHA256SUMS"), os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), text, 0o644)
}

func (r *release) sum(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(r.out, name))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

func (r *release) write(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), append(b, '\n'), 0o644)
}

// provenance says of which source and how the files were made: an in-toto statement with
// the predicate of SLSA 1.0. It is not signed.
func (r *release) provenance(made []string, sums map[string]string) any {
	var subjects []any
	for _, name := range made {
		subjects = append(subjects, map[string]any{"name": name, "digest": map[string]string{"sha256": sums[name]}})
	}
	return map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          "urn:kerf:release:1",
				"externalParameters": map[string]any{"command": "make release-snapshot", "version": r.version},
				"resolvedDependencies": []any{map[string]any{"name": "source",
					"digest": map[string]string{"gitCommit": r.commit}}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": "urn:kerf:release"},
				"metadata": map[string]any{"startedOn": r.date.Format(time.RFC3339)}},
		},
	}
}

var formula = template.Must(template.New("kerf.rb").Parse(`class Kerf < Formula
  desc "Local coding agent that knows what changed and how to take it back"
  homepage "{{.URL}}"
  version "{{.Version}}"
  license "Apache-2.0"

{{range .Systems}}  on_{{.Name}} do
{{range .Machines}}    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{end}}  end

{{end}}  def install
    bin.install "kerf"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/kerf.bash" => "kerf"
    zsh_completion.install "completions/_kerf"
    fish_completion.install "completions/kerf.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kerf --version")
  end
end
`))

// formula writes how Homebrew installs the archives.
func (r *release) formula(sums map[string]string) error {
	type machine struct{ Name, URL, Sum string }
	type system struct {
		Name     string
		Machines []machine
	}
	of := func(name, goos string) system {
		s := system{Name: name}
		for _, m := range []struct{ name, arch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			file := fmt.Sprintf("kerf_%s_%s_%s.tar.gz", r.version, goos, m.arch)
			s.Machines = append(s.Machines, machine{m.name, r.url + "/" + file, sums[file]})
		}
		return s
	}
	f, err := os.Create(filepath.Join(r.out, "kerf.rb"))
	if err != nil {
		return err
	}
	defer f.Close()
	return formula.Execute(f, map[string]any{"URL": r.url, "Version": r.version,
		"Systems": []system{of("macos", "darwin"), of("linux", "linux")}})
}
