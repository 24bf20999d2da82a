package telemetry

import (
	"encoding/hex"
	"strconv"
	"time"
)

// The JSON form of OTLP 1, of which this is the part that is sent. Times are nanoseconds
// and whole numbers of 64 bits, both as texts; names of traces and spans are hexadecimal.

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String *string  `json:"stringValue,omitempty"`
	Int    string   `json:"intValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
}

// attrs are attributes in the order in which they are added. Empty texts are left out.
type attrs []attribute

func (a *attrs) text(key, v string) {
	if v != "" {
		*a = append(*a, attribute{key, value{String: &v}})
	}
}

func (a *attrs) int(key string, v int) {
	*a = append(*a, attribute{key, value{Int: strconv.Itoa(v)}})
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

type span struct {
	Trace      string  `json:"traceId"`
	ID         string  `json:"spanId"`
	Parent     string  `json:"parentSpanId,omitempty"`
	Name       string  `json:"name"`
	Kind       int     `json:"kind"` // 1 is internal, 3 a client
	Start      string  `json:"startTimeUnixNano"`
	End        string  `json:"endTimeUnixNano"`
	Attributes attrs   `json:"attributes"`
	Status     *status `json:"status,omitempty"`
}

// status is that of a span that failed.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

const failed = 2 // STATUS_CODE_ERROR

type logRecord struct {
	Time       string `json:"timeUnixNano"`
	Severity   int    `json:"severityNumber"`
	Text       string `json:"severityText"`
	Event      string `json:"eventName"`
	Attributes attrs  `json:"attributes"`
	Trace      string `json:"traceId,omitempty"`
	Span       string `json:"spanId,omitempty"`
}

// point is one observation of a histogram, summed up with others of the same attributes.
type point struct {
	Attributes attrs     `json:"attributes"`
	Start      string    `json:"startTimeUnixNano"`
	Time       string    `json:"timeUnixNano"`
	Count      string    `json:"count"`
	Sum        float64   `json:"sum"`
	Min        float64   `json:"min"`
	Max        float64   `json:"max"`
	Buckets    []string  `json:"bucketCounts"`
	Bounds     []float64 `json:"explicitBounds"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type object = map[string]any

func name(b []byte) string { return hex.EncodeToString(b) }
