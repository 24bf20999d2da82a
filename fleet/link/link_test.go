package link_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"

	"kerf/fleet/link"
	"kerf/fleet/task"
)

// With a key the engine sees nothing of a task, and takes none that was not encrypted.
func TestPayloadsAreEncrypted(t *testing.T) {
	c := link.Options{Secret: bytes.Repeat([]byte{3}, 32)}.Converter()
	all, err := c.ToPayloads(task.Task{ID: "t", Prompt: "the secret prompt"})
	if err != nil {
		t.Fatal(err)
	}
	if s := all.String(); strings.Contains(s, "secret") || strings.Contains(s, "json") {
		t.Errorf("the engine sees %s", s)
	}
	var got task.Task
	if err = c.FromPayloads(all, &got); err != nil || got.Prompt != "the secret prompt" {
		t.Errorf("%+v %v", got, err)
	}
	plain, _ := converter.GetDefaultDataConverter().ToPayloads(got)
	if err = c.FromPayloads(plain, &got); err == nil {
		t.Error("a payload without encryption was taken")
	}
	other := link.Options{Secret: bytes.Repeat([]byte{4}, 32)}.Converter()
	if err = other.FromPayloads(all, &got); err == nil {
		t.Error("another key opened it")
	}
	all.Payloads[0].Data[len(all.Payloads[0].Data)-1] ^= 1
	if err = c.FromPayloads(all, &got); err == nil {
		t.Error("a changed payload was taken")
	}
}

func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	for text, ok := range map[string]bool{strings.Repeat("0a", 32) + "\n": true, strings.Repeat("0a", 31): false, "": false,
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=": true} {
		path := filepath.Join(dir, "k")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := link.ReadSecret(path); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Names of queues of single workers do not become series without end.
func TestMetricsAreBounded(t *testing.T) {
	m := link.NewMetrics()
	for _, queue := range []string{"kerf", "kerf-worker-a-1", "kerf-worker-b-2"} {
		h := m.WithTags(map[string]string{"task_queue": queue})
		h.Counter("temporal_x").Inc(1)
		h.Gauge("temporal_y").Update(1)
		h.Timer("temporal_z").Record(1)
	}
	all, err := m.Registry.Gather()
	if err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	for _, f := range all {
		if len(f.Metric) != 2 {
			t.Errorf("%s: %d series", f.GetName(), len(f.Metric))
		}
	}
}
