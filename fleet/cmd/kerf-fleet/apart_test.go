//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"kerf/fleet/blob"
	"kerf/fleet/link"
	"kerf/fleet/task"
)

// A task reads nothing of another one, of the store, of the clones of other repositories,
// and of the worker's keys; and no key is in the store.
func TestTasksAreApart(t *testing.T) {
	f := newFleet(t)
	home := filepath.Join(f.dir, "kerfhome")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"auth.json": `{"x":"KEYWORD-OF-THE-WORKER"}`, "config.toml": "# KEYWORD-OF-THE-WORKER\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(f.dir, "secret.key")
	if err := os.WriteFile(secret, []byte(strings.Repeat("5c", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KERF_FLEET_SECRET_FILE", secret)
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "KEYWORD-OF-THE-WORKER")
	}
	// The store is named by a path that leads out of where the worker was started.
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(wd, f.store())
	if err != nil {
		t.Fatal(err)
	}
	f.work("one", "--kerf-home", home, "--store", rel)
	one, two := f.repository("first"), f.repository("second")
	f.must("submit", "--repo", one, "--id", "first", "--scenario",
		f.scenario("a", "echo TOPSECRET-OF-FIRST > s; sleep 60"), "hold the TOPSECRET-OF-FIRST")
	held := filepath.Join(f.dir, "one", "tasks", "first", "tree", "s")
	f.until("the first task", 30*time.Second, func() bool { _, err := os.Stat(held); return err == nil })
	look := "cat " + held + " " + home + "/auth.json " + f.dir + "/one/tasks/*/home/auth.json; ls -R " + f.dir + "/one/tasks/first " +
		f.store() + " " + f.dir + "/one/clones; find /var/tmp /root /home -maxdepth 6 -name auth.json -newer " + secret + " 2>/dev/null | xargs -r cat; env; cat /proc/[0-9]*/environ; cat a.txt | tail -1; echo LOOKED"
	f.must("submit", "--repo", two, "--id", "second", "--scenario", f.scenario("b", look), "--wait", "look")
	out := f.must("logs", "second", "--json")
	if !strings.Contains(out, "LOOKED") || !strings.Contains(out, `20\n`) {
		t.Fatalf("the second task did not look: %s", out)
	}
	for _, word := range []string{"TOPSECRET", "KEYWORD", "/store/objects", "home:"} {
		if strings.Contains(out, word) {
			t.Errorf("the second task sees %s:\n%s", word, out)
		}
	}
	if n := strings.Count(out, `.git:\n`); n != 1 {
		t.Errorf("the second task sees %d clones", n)
	}
	f.must("cancel", "--wait", "first")
	// An error repeats what the task said; the engine must not see it either.
	if out, err := f.run("submit", "--repo", two, "--id", "third", "--rev", "TOPSECRET-BRANCH", "--wait", "look"); err == nil ||
		!strings.Contains(err.Error(), "TOPSECRET-BRANCH") {
		t.Errorf("no such revision: %s %v", out, err)
	}
	for _, id := range []string{"first", "second", "third"} {
		f.lacks(id, "TOPSECRET", "LOOKED", "KEYWORD")
	}

	// With the key everything can be read, and no content has the worker's own.
	key, err := link.ReadSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	s, err := blob.Open(context.Background(), f.store(), key)
	if err != nil {
		t.Fatal(err)
	}
	contents, words := 0, 0
	err = s.List(context.Background(), "", "", func(o blob.Object) error {
		raw, err := os.ReadFile(filepath.Join(f.store(), o.Name))
		if err != nil {
			return err
		}
		if strings.Contains(string(raw), "TOPSECRET") || strings.Contains(string(raw), "LOOKED") {
			t.Errorf("%s is not encrypted", o.Name)
		}
		if !strings.HasPrefix(o.Name, "objects/") {
			return nil
		}
		data, err := s.Get(context.Background(), strings.ReplaceAll(strings.TrimPrefix(o.Name, "objects/"), "/", ""))
		if err != nil {
			return err
		}
		contents++
		if strings.Contains(string(data), "KEYWORD") {
			t.Errorf("the worker's key is in the store, in %s", o.Name)
		}
		if strings.Contains(string(data), "LOOKED") {
			words++
		}
		return nil
	})
	if err != nil || contents < 5 || words == 0 {
		t.Errorf("%d contents, %d with the task's words, %v", contents, words, err)
	}
	files, _ := filepath.Glob(filepath.Join(f.dir, "dev", "engine.db*"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		for _, word := range []string{"TOPSECRET", "LOOKED", "KEYWORD"} {
			if err != nil || strings.Contains(string(data), word) {
				t.Errorf("the engine's file %s has %s; %v", filepath.Base(file), word, err)
			}
		}
	}
	if len(files) == 0 && !other() {
		t.Error("the engine has no file")
	}
}

// lacks looks for words in the history of a task, as the engine has it.
func (f *fleet) lacks(id string, words ...string) {
	f.t.Helper()
	events := f.events(id)
	if len(events) < 5 {
		f.t.Errorf("%s has %d events", id, len(events))
	}
	for _, e := range events {
		// Payloads are bytes, which JSON would show as base64.
		data, err := proto.Marshal(e)
		for _, word := range words {
			if err != nil || bytes.Contains(data, []byte(word)) {
				f.t.Errorf("event %d of %s, %s, has %s; %v", e.EventId, id, e.EventType, word, err)
			}
		}
	}
}

// Without a key for payloads, too, the keys of models are on the workers alone: they are in no history and in no
// content of the store, though the session that uses one has an error of its provider to tell.
func TestKeysStayOnTheWorker(t *testing.T) {
	const planted = "KEYWORD-OF-THE-WORKER"
	f := newFleet(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+planted {
			t.Errorf("the provider was asked with %q", r.Header.Get("Authorization"))
		}
		http.Error(w, `{"error":{"message":"the key `+planted+` is not for this model"}}`, http.StatusUnauthorized)
	}))
	defer provider.Close()
	home := filepath.Join(f.dir, "kerfhome")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("model = \"m\"\nmodel_provider = \"p\"\n[model_providers.p]\nname = \"p\"\nbase_url = %q\n"+
		"wire_api = \"chat\"\nenv_key = \"PLANTED_KEY\"\n", provider.URL)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLANTED_KEY", planted)
	f.work("one", "--kerf-home", home)
	f.must("submit", "--repo", f.repository("r"), "--id", "key", "say hello")
	r := f.result("key")
	if r.Outcome != task.Failed || r.Problem == "" {
		t.Errorf("%+v", r)
	}
	t.Logf("the task tells: %s", r.Problem)
	f.lacks("key", planted)
	s, err := blob.Open(context.Background(), f.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	contents := 0
	err = s.List(context.Background(), "", "", func(o blob.Object) error {
		data, err := s.Kept(context.Background(), o.Name)
		if err != nil {
			return nil // a name
		}
		contents++
		if bytes.Contains(data, []byte(planted)) {
			t.Errorf("the worker's key is in %s of the store", o.Name)
		}
		return nil
	})
	if err != nil || contents < 3 {
		t.Errorf("%d contents, %v", contents, err)
	}
}
