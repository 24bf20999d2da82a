package document

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Quote writes s as a TOML string on one line. Control and format characters
// are escaped, so that the text may be shown on a terminal.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, string(utf8.RuneError)) {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Render writes x as a TOML value on one line. Maps become inline tables.
func Render(x any) (string, error) {
	switch x := x.(type) {
	case string:
		return Quote(x), nil
	case bool:
		return strconv.FormatBool(x), nil
	case float64:
		return renderFloat(x), nil
	case time.Time:
		return x.Format(time.RFC3339Nano), nil
	case fmt.Stringer: // local dates and times
		return x.String(), nil
	}
	rv := reflect.ValueOf(x)
	switch rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(rv.Int(), 10), nil
	case reflect.Slice:
		parts := make([]string, rv.Len())
		for i := range parts {
			s, err := Render(rv.Index(i).Interface())
			if err != nil {
				return "", err
			}
			parts[i] = s
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case reflect.Map:
		m, ok := StringMap(rv)
		if !ok {
			break
		}
		parts := make([]string, 0, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			s, err := Render(m[k])
			if err != nil {
				return "", err
			}
			parts = append(parts, Key(k)+" = "+s)
		}
		if len(parts) == 0 {
			return "{}", nil
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return "", fmt.Errorf("a %T cannot be written to a configuration file", x)
}

func renderFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		return s + ".0"
	}
	return s
}

// StringMap returns a map with string keys as one of the common type.
func StringMap(rv reflect.Value) (map[string]any, bool) {
	if rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return nil, false
	}
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value().Interface()
	}
	return m, true
}
