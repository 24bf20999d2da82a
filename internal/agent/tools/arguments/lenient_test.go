package arguments_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/tools/arguments"
)

type item struct {
	Step string `json:"step"`
}

type args struct {
	File  string `json:"file_path,omitempty" also:"path,target_file"`
	Limit int    `json:"limit,omitempty"`
	All   bool   `json:"all,omitempty"`
	Items []item `json:"items,omitempty"`
}

// What can only mean one thing is read as that, by a lenient reader alone; what may mean two is
// refused by both.
func TestMeaning(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want args // zero when it is refused
	}{
		{`{"limit":"5"}`, args{Limit: 5}},
		{`{"limit":"5.0"}`, args{Limit: 5}},
		{`{"limit":"5.5"}`, args{}},
		{`{"limit":"0x5"}`, args{}},
		{`{"limit":".0"}`, args{}},
		{`{"all":"False","file_path":"x"}`, args{File: "x"}},
		{`{"all":"yes"}`, args{}},
		{`{"target_file":"x"}`, args{File: "x"}},
		{`{"path":"x","file_path":"y"}`, args{}},
		{`{"items":{"step":"a"}}`, args{Items: []item{{"a"}}}},
		{`{"items":"[{\"step\":\"a\"}]"}`, args{Items: []item{{"a"}}}},
		{`{"items":"a"}`, args{}},
		{`{"arguments":{"file_path":"x"}}`, args{File: "x"}},
		{`{"parameters":"{\"limit\":2}"}`, args{Limit: 2}},
		{`{"input":{"path":"x","limit":"3"}}`, args{File: "x", Limit: 3}},
		{`{"input":{"arguments":{"limit":3}}}`, args{}}, // one shell is a template's, two are nobody's
		{`{"arguments":{"file_path":"x"},"limit":1}`, args{Limit: 1}},
		{`{"file_path":["x"]}`, args{}},
	} {
		for _, lenient := range []bool{true, false} {
			var got args
			r := arguments.Reader{Lenient: lenient}
			err := r.Decode("tool", []byte(tt.raw), &got)
			if !lenient {
				if err == nil {
					t.Errorf("a strict reader takes %s", tt.raw)
				}
				continue
			}
			if refused := cmp.Equal(tt.want, args{}); !refused && (err != nil || !cmp.Equal(tt.want, got)) || refused && err == nil &&
				!cmp.Equal(got, args{}) {
				t.Errorf("%s: %+v, %v", tt.raw, got, err)
			}
		}
	}
}

// A tool's own argument is no wrapper.
func TestAnArgumentIsNoWrapper(t *testing.T) {
	var got struct {
		Input map[string]string `json:"input"`
	}
	r := arguments.Reader{Lenient: true}
	if err := r.Decode("tool", []byte(`{"input":{"file_path":"x"}}`), &got); err != nil || got.Input["file_path"] != "x" {
		t.Errorf("%+v, %v", got, err)
	}
}
