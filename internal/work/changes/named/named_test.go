package named

import (
	"strings"
	"testing"

	"kerf/internal/work/changes/row"
)

func TestFind(t *testing.T) {
	rows := []row.Entry{
		{Seq: 9, Session: "01bb-2", Turn: "exec-b-1", Call: "call_2"},
		{Seq: 7, Cause: "outside"},
		{Seq: 5, Session: "01aa-1", Turn: "exec-a-2", Call: "call_1"},
		{Seq: 4, Session: "01aa-1", Turn: "exec-a-1", Call: "call_22"},
		{Seq: 3, Session: "01aa-1", Turn: "exec-a-1", Call: "call_1"},
	}
	tests := []struct {
		word string
		want Target
		says string
	}{
		{"#4", Target{4, "01aa-1", "exec-a-1", "call_22", 4, 4}, ""},
		{"7", Target{Entry: 7, First: 7, Last: 7}, ""},
		{"exec-a-1", Target{Session: "01aa-1", Turn: "exec-a-1", First: 3, Last: 4}, ""},
		{"01aa", Target{Session: "01aa-1", First: 3, Last: 5}, ""},
		{"call_2", Target{Session: "01bb-2", Turn: "exec-b-1", Call: "call_2", First: 9, Last: 9}, ""}, // exact
		{"#8", Target{}, "no entry 8"},
		{"exec-a", Target{}, "several: exec-a-2 (entry 5), exec-a-1 (entry 3)"},
		{"call_1", Target{}, "several"},
		{"01a", Target{}, ""}, // too short
		{"", Target{}, ""},
		{"nosuch", Target{}, ""},
	}
	for _, tt := range tests {
		got, ok, err := Find(rows, tt.word)
		if got != tt.want || ok != (tt.want != Target{}) || (err == nil) != (tt.says == "") ||
			err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: got %+v, %v, %v; want %+v, %q", tt.word, got, ok, err, tt.want, tt.says)
		}
	}
}

// TestEverythingShownIsFound: each number and id of a list finds the entry it stands beside,
// or says that it names several.
func TestEverythingShownIsFound(t *testing.T) {
	rows := []row.Entry{{Seq: 2, Session: "s-long-1", Turn: "t-long-1", Call: "c"}, {Seq: 1, Session: "s-long-1", Turn: "t"}}
	for _, e := range rows {
		for _, word := range []string{"1", e.Session, e.Turn, e.Call} {
			if word == "" {
				continue
			}
			if got, ok, err := Find(rows, word); err == nil && (!ok || word != "1" && !got.Fits(e)) {
				t.Errorf("%q of entry %d: got %+v, %v", word, e.Seq, got, ok)
			}
		}
	}
}
