package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the files below deploy start is a command of this program, with flags and variables that it knows.
func TestDeployedCommandsAreKnown(t *testing.T) {
	known := regexp.MustCompile(`env\("([A-Z_]+)"|Getenv\("KERF_FLEET_([A-Z_]+)"`)
	source, err := os.ReadFile("flags.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range known.FindAllStringSubmatch(string(source), -1) {
		names = append(names, "KERF_FLEET_"+m[1]+m[2])
	}
	for _, file := range []string{"Containerfile", "compose.yml", "kerf-fleet-worker.service"} {
		text := deployed(t, file)
		for _, name := range regexp.MustCompile(`KERF_FLEET_[A-Z_]+`).FindAllString(text, -1) {
			if !slices.Contains(names, name) {
				t.Errorf("%s sets %s, which nothing reads", file, name)
			}
		}
		for _, line := range regexp.MustCompile(`(?m)^(?:ENTRYPOINT |ExecStart=|\s+entrypoint: )(.*)$`).FindAllStringSubmatch(text, -1) {
			words := strings.Fields(line[1])
			if json.Valid([]byte(line[1])) {
				words = nil
				if err := json.Unmarshal([]byte(line[1]), &words); err != nil {
					t.Fatal(err)
				}
			}
			root := command()
			c, rest, err := root.Find(words[1:])
			if err != nil || c == root || filepath.Base(words[0]) != "kerf-fleet" {
				t.Errorf("%s starts %q: %v", file, words, err)
			} else if err = c.ParseFlags(rest); err != nil || len(c.Flags().Args()) > 0 {
				t.Errorf("%s starts %q: %v", file, words, err)
			}
		}
	}
}

// A volume belongs to root where the image has no such directory; and what Temporal is not there for yet tries again.
func TestContainersCanWriteAndTryAgain(t *testing.T) {
	image, compose := deployed(t, "Containerfile"), deployed(t, "compose.yml")
	made := strings.Fields(regexp.MustCompile(`install -d -o kerf -g kerf .*`).FindString(image))
	var mounted []string
	for _, m := range regexp.MustCompile(`(?m)^VOLUME (\S+)`).FindAllStringSubmatch(image, -1) {
		mounted = append(mounted, m[1])
	}
	kerfs := 0
	for _, service := range regexp.MustCompile(`(?m)^  [a-z]+:`).Split(compose, -1) {
		if !strings.Contains(service, "<<: *fleet") {
			continue
		}
		kerfs++
		if !strings.Contains(service, "restart: ") {
			t.Errorf("a service that ends for good when Temporal is not there yet:%s", service)
		}
		for _, m := range regexp.MustCompile(`volumes: \["[a-z]+:(/[^"]*)"`).FindAllStringSubmatch(service, -1) {
			mounted = append(mounted, m[1])
		}
	}
	if kerfs != 2 || len(mounted) != 2 {
		t.Errorf("%d services of kerf-fleet, with the volumes %v", kerfs, mounted)
	}
	for _, dir := range mounted {
		if !slices.Contains(made, dir) {
			t.Errorf("the user kerf cannot write %s", dir)
		}
	}
}

// systemd takes the unit.
func TestTheUnitIsVerified(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kerf-fleet-worker.service")
	unit := strings.Replace(deployed(t, "kerf-fleet-worker.service"), "/usr/bin/kerf-fleet", self, 1)
	if err = os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(path)) {
		t.Errorf("%v: %s", err, out)
	}
}
