package family

import (
	"strings"
	"testing"
)

// A model whose limits are known is of the family in whose table they stand, and what is
// said of its quirks and its maker finds it.
func TestTheTableAgreesWithItself(t *testing.T) {
	seen := map[string]string{}
	for _, f := range All() {
		if before := seen[f.Name]; before != "" || f.Name == Unknown.Name || f.Name == Small.Name {
			t.Errorf("two families %s", f.Name)
		}
		seen[f.Name] = f.Name
		for _, m := range f.Known {
			if got := Of(m.Prefix).Name; got != f.Name {
				t.Errorf("%s is known in family %s, and is of family %s", m.Prefix, f.Name, got)
			}
			if facts, ok := Lookup("vendor/" + strings.ToUpper(m.Prefix)); !ok || facts != m.Facts() {
				t.Errorf("%s is not found, but %+v", m.Prefix, facts)
			}
			if m.Window < m.MaxOutput || m.MaxOutput == 0 || m.EditTool == "" {
				t.Errorf("%s: %+v", m.Prefix, m)
			}
			if p := m.Prices; p != (Prices{}) && (p.Input <= p.Cached || p.Output <= p.Input) {
				t.Errorf("%s: prices %+v", m.Prefix, p)
			}
		}
		for _, q := range f.Quirks {
			if q.Quirks == (Quirks{}) || QuirksOf("Vendor/"+q.Part+"x") == (Quirks{}) {
				t.Errorf("%s has no quirks", q.Part)
			}
		}
		for _, m := range f.Makers {
			if got := MakerOf(m.Prefix + "x"); got != m.Provider {
				t.Errorf("%s is made by %s, want %s", m.Prefix, got, m.Provider)
			}
			if m.Usual != "" && (Usual(m.Provider) != m.Usual || Of(m.Usual).Name != f.Name) {
				t.Errorf("%s usually is %s", m.Provider, m.Usual)
			}
		}
	}
	for provider, name := range hosted {
		if facts, known := Lookup(name); Usual(provider) != name || !known || facts.Window == 0 || MakerOf(name) != "" {
			t.Errorf("%s usually has %s: %+v", provider, name, facts)
		}
	}
	for _, name := range []string{"some-model", ""} {
		if facts, ok := Lookup(name); ok || Of(name).Name != Unknown.Name || facts != assumed || MakerOf(name) != "" {
			t.Errorf("%q: %+v, %v, %s", name, facts, ok, Of(name).Name)
		}
	}
	if MakerOf("anthropic/claude-x") != "" || MakerOf("claude-x") != "anthropic" || MakerOf("gpt-oss-20b") != "" {
		t.Error("makers")
	}
	if q := QuirksOf("cognitive/dolphin-mistral-24b"); !q.Strict || q.Thoughts != Never {
		t.Errorf("a model made of Mistral's wants %+v", q)
	}
}
