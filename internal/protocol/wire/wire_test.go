package wire

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/protocol"
)

// TestWhatIsDecodedIsWhatWasEncoded tries random values of every type.
func TestWhatIsDecodedIsWhatWasEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		e := protocol.Event{}
		fill(r, reflect.ValueOf(&e).Elem(), 0)
		trip(t, e)
		s := protocol.Submission{}
		fill(r, reflect.ValueOf(&s).Elem(), 0)
		trip(t, s)
		o := protocol.OpenOptions{}
		fill(r, reflect.ValueOf(&o).Elem(), 0)
		trip(t, o)
	}
}

func trip[T any](t *testing.T, v T) {
	t.Helper()
	b, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) || strings.ContainsAny(string(b), "\n\r") {
		t.Fatalf("not one line of JSON: %q", b)
	}
	var got T
	if err := Unmarshal(b, &got); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if d := cmp.Diff(v, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s\n%s", b, d)
	}
}

// TestTheSchemaHolds for random values, and refuses what is none.
func TestTheSchemaHolds(t *testing.T) {
	b, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		def string
		v   reflect.Type
		bad string
	}{
		{"event", reflect.TypeFor[protocol.Event](), `{"seq":1,"msg":{"type":"nosuch"}}`},
		{"submission", reflect.TypeFor[protocol.Submission](), `{"op":{"type":"user_input","items":[{"text":7}]}}`},
		{"open_options", reflect.TypeFor[protocol.OpenOptions](), `{"settings":[]}`},
	} {
		one := s
		one.AnyOf, one.Ref = nil, "#/$defs/"+tt.def
		r, err := one.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(8, 9))
		for range 300 {
			v := reflect.New(tt.v).Elem()
			fill(rnd, v, 0)
			b, err := Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(decoded(t, b)); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
		}
		if r.Validate(decoded(t, []byte(tt.bad))) == nil {
			t.Errorf("%s passes for %s", tt.bad, tt.def)
		}
	}
}

func decoded(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

var texts = []string{"", "a", "ü\n\x00", "\xff/\xfe", `{"b64":"YQ=="}`, "</script>\u2028", "null"}

var raws = []string{`{"a":1}`, `null`, `"s"`, `{"b64":"YQ=="}`, `{"b64":"YQ==","x":1}`, `{broken`, "\xff", `{"b64":7}`}

// fill gives v random contents, deep enough to reach every type.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Type() {
	case rawType:
		if r.IntN(3) > 0 {
			v.SetBytes([]byte(raws[r.IntN(len(raws))]))
		}
		return
	case timeType:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth+1)
		}
	case reflect.Interface:
		u, ok := unions[v.Type()]
		if !ok {
			return // what a front end's own program offers
		}
		var all []reflect.Type
		for _, t := range u {
			all = append(all, t)
		}
		if depth > 6 {
			return
		}
		one := reflect.New(all[r.IntN(len(all))]).Elem()
		fill(r, one, depth+1)
		v.Set(one)
	case reflect.Pointer:
		if r.IntN(2) == 0 && v.Type() != reflect.TypeFor[*protocol.ClientServices]() &&
			v.Type() != reflect.TypeFor[*protocol.Bounds]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, depth+1)
			fill(r, e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64() - r.Int64())
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	default:
		panic(v.Type().String())
	}
}

// TestEveryTypeIsCarried finds the types of each interface in the source of protocol.
func TestEveryTypeIsCarried(t *testing.T) {
	methods := map[string]reflect.Type{"op": reflect.TypeFor[protocol.Op](), "msg": reflect.TypeFor[protocol.Msg](),
		"body": reflect.TypeFor[protocol.Body]()}
	paths, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || methods[fn.Name.Name] == nil {
				continue
			}
			found++
			name := fn.Recv.List[0].Type.(*ast.Ident).Name
			if unions[methods[fn.Name.Name]][snake(name)] == nil {
				t.Errorf("%s is not carried", name)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d types were found", found)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"ItemStarted": "item_started", "MCPServer": "mcp_server", "ID": "id",
		"ImageURL": "image_url", "AnyCwd": "any_cwd", "MCP": "mcp"} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestWhatIsNotKnown(t *testing.T) {
	var e protocol.Event
	if err := Unmarshal([]byte(`{"seq":3,"new":{"x":1},"msg":{"type":"warning","message":"m","more":[]}}`), &e); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(protocol.Event{Seq: 3, Msg: protocol.Warning{Message: "m"}}, e); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{`{"msg":{"type":"nosuch"}}`, `{"msg":{}}`, `{"msg":7}`, `{"seq":"x"}`, `7`, `{`, ``,
		`{"msg":{"type":"item_started","item":{"body":{"type":"warning"}}}}`} {
		if err := Unmarshal([]byte(bad), &e); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"seq":1,"msg":{"type":"item_completed","item":{"id":"a","body":{"type":"command","exit_code":0}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e protocol.Event
		if Unmarshal(b, &e) == nil {
			trip(t, e)
		}
	})
}
