// Package wire carries the words of package protocol through JSON, exactly: what is
// decoded equals what was encoded, but for the difference between an empty list and none.
//
//   - A struct is an object. Its members have the names of the fields in snake case, or
//     those of their json tags; members that are zero are left out, but for those that
//     the tag wire:"always" marks.
//   - An Op, a Msg and a Body is an object whose member "type" names it in snake case.
//   - A string that is not UTF-8 is {"b64": "..."}, its bytes in base64.
//   - A time is a string (RFC 3339), a duration a number of nanoseconds.
//   - JSON inside is JSON; what only claims to be JSON is {"b64": "..."} as well.
//   - A map is an object, or a list of pairs where a key is not UTF-8.
//
// Members that are not known are skipped, so that a newer program may say more. A type
// that is not known is an error.
package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kerf/internal/protocol"
)

// unions are the types that a value of an interface may have, by the interface's name.
var unions = map[reflect.Type]union{
	reflect.TypeFor[protocol.Op](): unionOf(protocol.UserInput{}, protocol.Interrupt{}, protocol.Answer{},
		protocol.Address{}, protocol.Configure{}, protocol.Compact{}, protocol.Shell{}, protocol.Review{}, protocol.Undo{},
		protocol.Rewind{}, protocol.Rename{}, protocol.Kill{}, protocol.ListProcesses{}, protocol.Unqueue{},
		protocol.Shutdown{}),
	reflect.TypeFor[protocol.Msg](): unionOf(protocol.SessionStarted{}, protocol.TurnStarted{}, protocol.ItemStarted{},
		protocol.ItemDelta{}, protocol.ItemUpdated{}, protocol.ItemCompleted{}, protocol.ItemDropped{},
		protocol.ApprovalRequested{}, protocol.ApprovalResolved{}, protocol.Retrying{}, protocol.Warning{},
		protocol.RateLimits{}, protocol.TokensUsed{}, protocol.TurnDiff{}, protocol.TurnCompleted{}, protocol.TurnFailed{},
		protocol.TurnAborted{}, protocol.SettingsChanged{}, protocol.QueueChanged{}, protocol.HistoryCompacted{},
		protocol.Undone{}, protocol.Processes{}, protocol.Agents{}, protocol.Servers{}, protocol.TitleChanged{},
		protocol.SessionEnded{}),
	reflect.TypeFor[protocol.Body](): unionOf(protocol.UserMessage{}, protocol.AgentMessage{}, protocol.Reasoning{},
		protocol.ProposedPlan{}, protocol.Command{}, protocol.FileChange{}, protocol.ToolCall{}, protocol.TodoList{},
		protocol.SubAgent{}, protocol.WebSearch{}, protocol.Compaction{}, protocol.ReviewResult{}, protocol.Answered{},
		protocol.Problem{}),
}

// union is a closed set of types.
type union map[string]reflect.Type

func unionOf(values ...any) union {
	u := union{}
	for _, v := range values {
		u[snake(reflect.TypeOf(v).Name())] = reflect.TypeOf(v)
	}
	return u
}

var (
	rawType      = reflect.TypeFor[json.RawMessage]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// Marshal encodes a value made of the types of package protocol, as JSON on one line.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, reflect.ValueOf(v)); err != nil {
		return nil, fmt.Errorf("protocol/wire: %w", err)
	}
	return b.Bytes(), nil
}

// Unmarshal decodes into what v points to.
func Unmarshal(b []byte, v any) error {
	if err := decode(b, reflect.ValueOf(v).Elem()); err != nil {
		return fmt.Errorf("protocol/wire: %w", err)
	}
	return nil
}

func encode(b *bytes.Buffer, v reflect.Value) error {
	switch v.Type() {
	case rawType:
		return encodeRaw(b, v.Bytes())
	case timeType:
		return plain(b, v.Interface())
	}
	switch v.Kind() {
	case reflect.Struct:
		return encodeStruct(b, v, "")
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		if _, closed := unions[v.Type()]; closed {
			return encodeStruct(b, v.Elem(), snake(v.Elem().Type().Name()))
		}
		return encode(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encode(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.String:
		return encodeText(b, v.String())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return plain(b, v.Interface())
	}
	return fmt.Errorf("%s cannot be encoded", v.Type())
}

// encodeStruct writes a struct; kind is the value of its member "type", if it has one.
func encodeStruct(b *bytes.Buffer, v reflect.Value, kind string) error {
	b.WriteByte('{')
	start := b.Len()
	if kind != "" {
		fmt.Fprintf(b, `"type":%q`, kind)
	}
	for i := range v.NumField() {
		if empty(v.Field(i)) && !always(v.Type().Field(i)) {
			continue
		}
		if b.Len() > start {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", nameOf(v.Type().Field(i)))
		if err := encode(b, v.Field(i)); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// empty reports whether a member is left out.
func empty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// always reports whether a member is written even where it is empty, so that readers need not
// ask whether it is there.
func always(f reflect.StructField) bool { return f.Tag.Get("wire") == "always" }

func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	pairs := slices.ContainsFunc(keys, func(k reflect.Value) bool { return !utf8.ValidString(k.String()) })
	open, after, end := "{", ":", "}"
	if pairs {
		open, after, end = "[", ",", "]"
	}
	b.WriteString(open)
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if pairs {
			b.WriteByte('[')
		}
		if err := encodeText(b, k.String()); err != nil {
			return err
		}
		b.WriteString(after)
		if err := encode(b, v.MapIndex(k)); err != nil {
			return err
		}
		if pairs {
			b.WriteByte(']')
		}
	}
	b.WriteString(end)
	return nil
}

func encodeText(b *bytes.Buffer, s string) error {
	if utf8.ValidString(s) {
		return plain(b, s)
	}
	return encodeBytes(b, []byte(s))
}

// encodeRaw writes JSON as it is, on one line. What is no JSON, or looks like bytes, is
// written as bytes.
func encodeRaw(b *bytes.Buffer, raw []byte) error {
	if _, taken := bytesOf(raw); taken || !json.Valid(raw) || !utf8.Valid(raw) {
		return encodeBytes(b, raw)
	}
	return json.Compact(b, raw)
}

func encodeBytes(b *bytes.Buffer, raw []byte) error {
	fmt.Fprintf(b, `{"b64":%q}`, base64.StdEncoding.EncodeToString(raw))
	return nil
}

// plain writes what encoding/json writes.
func plain(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the end of the line
	return nil
}

func decode(b []byte, v reflect.Value) error {
	switch v.Type() {
	case rawType:
		if raw, ok := bytesOf(b); ok {
			b = raw
		}
		v.SetBytes(slices.Clone(b))
		return nil
	case timeType:
		return json.Unmarshal(b, v.Addr().Interface())
	}
	if bytes.Equal(b, []byte("null")) {
		v.SetZero()
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(b, v)
	case reflect.Interface:
		return decodeUnion(b, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(b, v.Elem())
	case reflect.Slice:
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, one := range list {
			if err := decode(one, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		return decodeMap(b, v)
	case reflect.String:
		if raw, ok := bytesOf(b); ok {
			v.SetString(string(raw))
			return nil
		}
	}
	return json.Unmarshal(b, v.Addr().Interface())
}

func decodeStruct(b []byte, v reflect.Value) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	v.SetZero()
	for i := range v.NumField() {
		name := nameOf(v.Type().Field(i))
		if m, ok := members[name]; ok {
			if err := decode(m, v.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func decodeUnion(b []byte, v reflect.Value) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	t, ok := unions[v.Type()][head.Type]
	if !ok {
		return fmt.Errorf("%s has no type %q", snake(v.Type().Name()), head.Type)
	}
	one := reflect.New(t).Elem()
	if err := decodeStruct(b, one); err != nil {
		return fmt.Errorf("%s: %w", head.Type, err)
	}
	v.Set(one)
	return nil
}

func decodeMap(b []byte, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	put := func(key string, value json.RawMessage) error {
		one := reflect.New(v.Type().Elem()).Elem()
		if err := decode(value, one); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), one)
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(b, &object) == nil {
		for k, value := range object {
			if err := put(k, value); err != nil {
				return err
			}
		}
		return nil
	}
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(b, &pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		var key string
		if err := decode(p[0], reflect.ValueOf(&key).Elem()); err != nil {
			return err
		}
		if err := put(key, p[1]); err != nil {
			return err
		}
	}
	return nil
}

// bytesOf returns the bytes that b stands for, and whether it stands for any.
func bytesOf(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) != nil || len(members) != 1 {
		return nil, false
	}
	var s string
	if json.Unmarshal(members["b64"], &s) != nil {
		return nil, false
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	return raw, err == nil
}

// nameOf is the name of a member.
func nameOf(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
		return tag
	}
	return snake(f.Name)
}

// snake is a Go name in snake case: ItemStarted is item_started, MCPServer is mcp_server.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
