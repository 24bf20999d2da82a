package bundle_test

import (
	"encoding/json"
	"testing"

	"kerf/fleet/bundle"
)

// What is read is what was sealed, also with names that are not UTF-8; a change is told.
func TestABundleIsWhole(t *testing.T) {
	for _, name := range []string{"a.txt", "caf\xe9.txt", "<&>\u2028", "{\"b64\":\"eA==\"}", "\n"} {
		b := bundle.Bundle{Task: "t", Message: "<m>", Changes: []bundle.Change{{Path: bundle.Name(name), Cause: "command"}}}
		if err := b.Seal(); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var read bundle.Bundle
		if err = json.Unmarshal(data, &read); err != nil || read.Check() != nil || string(read.Changes[0].Path) != name {
			t.Errorf("%q: %s: %v, %v", name, data, err, read.Check())
		}
		read.Changes[0].Path += "x"
		if read.Check() == nil {
			t.Errorf("%q: a change is not told", name)
		}
	}
	// As an older program sealed it.
	old := `{"version":1,"task":"t","repository":"","base":"","tree":"","made":"0001-01-01T00:00:00Z","worker":"","session":"",` +
		`"prompt":"","changes":[{"path":"a<b","before":{},"after":{},"cause":"","certainty":""}],` +
		`"hash":"18f464623c6427214b906a848fa2d0478441054dc3c2fa1c3cad1e49d55a41d2"}`
	var b bundle.Bundle
	if err := json.Unmarshal([]byte(old), &b); err != nil || b.Check() != nil {
		t.Errorf("an older bundle: %v, %v", err, b.Check())
	}
}
