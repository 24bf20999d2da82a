package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchivesHoldTheProgram and what belongs to it, below one directory, for each system.
func TestArchivesHoldTheProgram(t *testing.T) {
	r := made(t)
	for _, tt := range targets {
		stem := "kerf_" + r.version + "_" + tt.String()
		var list map[string]int64
		program := "kerf"
		if tt.os == "windows" {
			program += ".exe"
			list = zipped(t, filepath.Join(r.out, stem+".zip"))
		} else {
			list = tarred(t, filepath.Join(r.out, stem+".tar.gz"))
		}
		for _, name := range []string{program, "LICENSE", "README.md", "CHANGELOG.md", "man/man1/kerf.1", "man/man1/kerf-exec.1",
			"completions/kerf.bash", "completions/_kerf", "completions/kerf.fish", "completions/kerf.ps1"} {
			if list[path.Join(stem, name)] == 0 {
				t.Errorf("%s: no %s, or it is empty", stem, name)
			}
			delete(list, path.Join(stem, name))
		}
		for name := range list {
			if !strings.HasPrefix(name, stem+"/man/man1/kerf-") {
				t.Errorf("%s: what is %s?", stem, name)
			}
		}
	}
}

// zipped and tarred list the files of an archive with their sizes.
func zipped(t *testing.T, name string) map[string]int64 {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	list := map[string]int64{}
	for _, f := range z.File {
		list[f.Name] = int64(f.UncompressedSize64)
	}
	return list
}

func tarred(t *testing.T, name string) map[string]int64 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]int64{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list[h.Name] = h.Size
	}
}

// TestAlpinePackage reads the package as apk does, without apk: two streams of gzip, of which
// the first tells the hash of the second, and each file with its own.
func TestAlpinePackage(t *testing.T) {
	r := made(t)
	for _, arch := range []string{"x86_64", "aarch64"} {
		data, err := os.ReadFile(filepath.Join(r.out, "kerf_"+r.version+"_"+arch+".apk"))
		if err != nil {
			t.Fatal(err)
		}
		control, rest := stream(t, data)
		info, _ := io.ReadAll(entry(t, tar.NewReader(bytes.NewReader(control)), ".PKGINFO"))
		says := map[string]string{}
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
				says[key] = value
			}
		}
		if says["pkgname"] != "kerf" || says["pkgver"] != r.version || says["arch"] != arch || says["license"] != "Apache-2.0" {
			t.Errorf("%s: %v", arch, says)
		}
		if sum := sha256.Sum256(rest); says["datahash"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the hash of the files is another", arch)
		}
		files, behind := stream(t, rest)
		if len(behind) > 0 {
			t.Errorf("%s: %d bytes behind the files", arch, len(behind))
		}
		want := slices.Clone(installedFiles)
		for tr := tar.NewReader(bytes.NewReader(files)); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 || path.IsAbs(h.Name) || strings.Contains(h.Name, "..") {
				t.Errorf("%s: %+v", arch, h)
			}
			if h.Typeflag != tar.TypeReg {
				continue
			}
			content, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha1.Sum(content); h.PAXRecords["APK-TOOLS.checksum.SHA1"] != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: the hash of %s is another", arch, h.Name)
			}
			want = slices.DeleteFunc(want, func(name string) bool { return name == h.Name })
		}
		if len(want) > 0 {
			t.Errorf("%s: without %v", arch, want)
		}
	}
}

// stream unpacks the first of several streams of gzip and returns what comes after it.
func stream(t *testing.T, data []byte) (first, rest []byte) {
	t.Helper()
	// A bytes.Reader is an io.ByteReader: gzip takes no byte too many of it.
	from := bytes.NewReader(data)
	z, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	first, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	rest, err = io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return first, rest
}

func entry(t *testing.T, r *tar.Reader, name string) io.Reader {
	t.Helper()
	for {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Name == name {
			return r
		}
	}
}

// TestFormula: Ruby reads the formula, and it names each archive with its hash.
func TestFormula(t *testing.T) {
	r := made(t)
	file := filepath.Join(r.out, "kerf.rb")
	rb, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`url "https://example.invalid/kerf/(.*)"\n +sha256 "(.*)"`).FindAllStringSubmatch(string(rb), -1)
	if len(found) != 4 {
		t.Errorf("%d archives:\n%s", len(found), rb)
	}
	for _, m := range found {
		if sum, err := r.sum(m[1]); err != nil || sum != m[2] {
			t.Errorf("%s has the hash %s (%v)", m[1], sum, err)
		}
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Skip("ruby is not installed: the formula was not run")
	}
	// What Homebrew does with it, in a few lines: it takes the archive of this system,
	// unpacks it, and puts files where they belong.
	list := tarred(t, filepath.Join(r.out, "kerf_"+r.version+"_linux_amd64.tar.gz"))
	top := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(r.out, "kerf_"+r.version+"_linux_amd64.tar.gz"), "-C", top, "--strip-components=1").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("ruby", "-w", "-e", brew, file)
	cmd.Dir = top
	out, err := cmd.CombinedOutput()
	man := 0
	for name := range list {
		if strings.Contains(name, "/man/man1/") {
			man++
		}
	}
	sum, _ := r.sum("kerf_" + r.version + "_linux_amd64.tar.gz")
	for _, want := range []string{"sha256 " + sum, "version " + r.version, "bin kerf", "bash kerf", "zsh _kerf", "fish kerf.fish"} {
		if err != nil || !slices.Contains(strings.Split(string(out), "\n"), want) {
			t.Errorf("no %q (%v):\n%s", want, err, out)
		}
	}
	if n := strings.Count(string(out), "\nman1 "); n != man {
		t.Errorf("%d manual pages of %d", n, man)
	}
}

// brew is as much of Homebrew as a formula sees, on Linux with Intel's processor.
const brew = `
class Place
  def initialize(name) = @name = name
  def install(*what)
    what.flatten.each do |w|
      from, to = w.is_a?(Hash) ? w.first : [w, File.basename(w)]
      raise "no #{from}" unless File.file?(from)
      puts "#{@name} #{to}"
    end
  end
end
class Formula
  %i[desc homepage license].each { |m| define_singleton_method(m) { |text| raise m.to_s if text.empty? } }
  %i[url version sha256].each { |m| define_singleton_method(m) { |text| puts "#{m} #{text}" } }
  def self.on_linux = yield
  def self.on_macos = nil
  def self.on_intel = yield
  def self.on_arm = nil
  def self.test = nil
  def bin = Place.new("bin")
  def man1 = Place.new("man1")
  def bash_completion = Place.new("bash")
  def zsh_completion = Place.new("zsh")
  def fish_completion = Place.new("fish")
end
load ARGV[0]
Kerf.new.install
`

// TestContainerFile: what it copies and links is in the release. Nothing builds it here.
func TestContainerFile(t *testing.T) {
	r := made(t)
	f, err := os.Open("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, arch := range []string{"amd64", "arm64"} {
		fill := strings.NewReplacer("${VERSION}", r.version, "${TARGETARCH}", arch)
		var added, linked string
		for s := bufio.NewScanner(f); s.Scan(); {
			words := strings.Fields(fill.Replace(s.Text()))
			switch {
			case len(words) == 3 && words[0] == "ADD" && words[2] == "/opt/":
				added = words[1]
			case len(words) == 5 && words[0] == "RUN" && words[1] == "ln":
				linked = words[3]
			}
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		inside, ok := strings.CutPrefix(linked, "/opt/")
		if !ok || added == "" || tarred(t, filepath.Join(r.out, added))[inside] == 0 {
			t.Errorf("%s: links %q of %q", arch, linked, added)
		}
	}
}
