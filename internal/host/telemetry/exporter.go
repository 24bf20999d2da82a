// Package telemetry tells a collector of OpenTelemetry what sessions do: traces, metrics and
// logs with the names of the conventions for generative AI, by OTLP over HTTP. It is off
// unless the user turns it on, keeps nobody waiting, and throws away what it cannot send.
package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say where to and what.
type Options struct {
	// Endpoint is the address of a collector, without the path of a signal.
	Endpoint string
	Headers  map[string]string
	// Signals are those that are sent: traces, metrics, logs.
	Signals []string
	// Content sends what is said and done, not only how long and how much.
	Content bool
	// Version is Kerf's.
	Version string
}

// The bounds of what waits to be sent, and of the time for it.
const (
	maxWaiting = 2048 // spans, and log records
	batchSize  = 256
	every      = 5 * time.Second
	sendLimit  = 10 * time.Second
	closeLimit = 5 * time.Second
)

// bounds are those of the histograms, as the conventions have them.
var bounds = map[string][]float64{
	"gen_ai.client.token.usage": {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
	"gen_ai.client.operation.duration": {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96,
		81.92},
}

// units are those of the histograms.
var units = map[string]string{"gen_ai.client.token.usage": "{token}", "gen_ai.client.operation.duration": "s"}

// exporter sends what it is given, from one goroutine that Close ends.
type exporter struct {
	o      Options
	client *http.Client
	start  time.Time
	wake   chan struct{}
	done   chan struct{}
	stop   context.CancelFunc

	mu      sync.Mutex // guards all below
	spans   []span
	logs    []logRecord
	points  map[string]map[string]*sum // by metric and attributes
	changed bool
	dropped int
	closed  bool
}

// sum is a histogram of one set of attributes.
type sum struct {
	attrs         attrs
	count         int
	sum, min, max float64
	buckets       []int
}

// newExporter starts one.
func newExporter(o Options) *exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &exporter{o: o, client: &http.Client{Timeout: sendLimit}, start: time.Now(), wake: make(chan struct{}, 1),
		done: make(chan struct{}), stop: cancel, points: map[string]map[string]*sum{}}
	go e.run(ctx) // ends when close is called; close waits for it
	return e
}

func (e *exporter) wants(signal string) bool { return slices.Contains(e.o.Signals, signal) }

// span takes a span, or counts it as thrown away. It never waits.
func (e *exporter) span(s span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.wants("traces") {
		return
	}
	if len(e.spans) == maxWaiting {
		e.dropped++
		return
	}
	if e.spans = append(e.spans, s); len(e.spans) >= batchSize {
		e.notify()
	}
}

// log takes a record, or counts it as thrown away.
func (e *exporter) log(r logRecord) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.wants("logs") {
		return
	}
	if len(e.logs) == maxWaiting {
		e.dropped++
		return
	}
	if e.logs = append(e.logs, r); len(e.logs) >= batchSize {
		e.notify()
	}
}

// record adds an observation to a histogram.
func (e *exporter) record(metric string, v float64, a attrs) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.wants("metrics") {
		return
	}
	key, err := json.Marshal(a)
	if err != nil {
		return
	}
	if e.points[metric] == nil {
		e.points[metric] = map[string]*sum{}
	}
	s := e.points[metric][string(key)]
	if s == nil {
		if len(e.points[metric]) == 200 { // as many models and tools as nobody has
			e.dropped++
			return
		}
		s = &sum{attrs: a, min: v, max: v, buckets: make([]int, len(bounds[metric])+1)}
		e.points[metric][string(key)] = s
	}
	s.count++
	s.sum, s.min, s.max, e.changed = s.sum+v, min(s.min, v), max(s.max, v), true
	at := slices.IndexFunc(bounds[metric], func(bound float64) bool { return v <= bound })
	if at < 0 {
		at = len(bounds[metric])
	}
	s.buckets[at]++
}

// notify wakes the goroutine.
func (e *exporter) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run sends what there is every few seconds, and when much waits.
func (e *exporter) run(ctx context.Context) {
	defer close(e.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-e.wake:
		case <-ctx.Done():
			return
		}
		e.flush(ctx)
		e.mu.Lock()
		over := e.closed && len(e.spans)+len(e.logs) == 0 && !e.changed
		e.mu.Unlock()
		if over {
			return
		}
	}
}

// close sends what is left, within a bound, and ends the goroutine.
func (e *exporter) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.notify()
	timer := time.NewTimer(closeLimit)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
	}
	e.stop()
	<-e.done
}

// flush sends all that waits. What a collector does not take is thrown away: the next part
// is worth more than the last one.
func (e *exporter) flush(ctx context.Context) {
	e.mu.Lock()
	spans, logs, changed := e.spans, e.logs, e.changed
	e.spans, e.logs, e.changed = nil, nil, false
	var metrics []object
	if changed {
		metrics = e.metrics()
	}
	resource := object{"attributes": e.resource()}
	e.mu.Unlock()
	in := scope{"kerf", e.o.Version}
	if len(spans) > 0 {
		e.post(ctx, "traces", object{"resourceSpans": []object{{"resource": resource,
			"scopeSpans": []object{{"scope": in, "spans": spans}}}}})
	}
	if len(logs) > 0 {
		e.post(ctx, "logs", object{"resourceLogs": []object{{"resource": resource,
			"scopeLogs": []object{{"scope": in, "logRecords": logs}}}}})
	}
	if len(metrics) > 0 {
		e.post(ctx, "metrics", object{"resourceMetrics": []object{{"resource": resource,
			"scopeMetrics": []object{{"scope": in, "metrics": metrics}}}}})
	}
}

// resource says what sends this, and how much of it was thrown away.
func (e *exporter) resource() attrs {
	var a attrs
	a.text("service.name", "kerf")
	a.text("service.version", e.o.Version)
	if e.dropped > 0 {
		a.int("kerf.dropped", e.dropped)
	}
	return a
}

// metrics are the histograms as they are now, counted from the start.
func (e *exporter) metrics() (list []object) {
	now, start := nanos(time.Now()), nanos(e.start)
	for _, metric := range slices.Sorted(maps.Keys(e.points)) {
		var points []point
		for _, key := range slices.Sorted(maps.Keys(e.points[metric])) {
			s := e.points[metric][key]
			p := point{Attributes: s.attrs, Start: start, Time: now, Count: strconv.Itoa(s.count), Sum: s.sum, Min: s.min, Max: s.max,
				Bounds: bounds[metric]}
			for _, n := range s.buckets {
				p.Buckets = append(p.Buckets, strconv.Itoa(n))
			}
			points = append(points, p)
		}
		list = append(list, object{"name": metric, "unit": units[metric],
			"histogram": object{"aggregationTemporality": 2, "dataPoints": points}}) // 2 is cumulative
	}
	return list
}

// post sends one signal.
func (e *exporter) post(ctx context.Context, signal string, body object) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.o.Endpoint, "/")+"/v1/"+signal,
		bytes.NewReader(data))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", fmt.Sprintf("kerf/%s", e.o.Version))
	for k, v := range e.o.Headers {
		r.Header.Set(k, v)
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return
	}
	answer.Body.Close()
}
