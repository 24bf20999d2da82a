package link

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// Metrics tells Prometheus what the SDK counts. It may be used by several goroutines.
type Metrics struct {
	Registry *prometheus.Registry
	tags     map[string]string
	shared   *collectors
}

type collectors struct {
	mu   sync.Mutex
	made map[string]prometheus.Collector
}

// NewMetrics makes an empty one.
func NewMetrics() *Metrics {
	return &Metrics{Registry: prometheus.NewRegistry(), shared: &collectors{made: map[string]prometheus.Collector{}}}
}

// WithTags is [client.MetricsHandler].
func (m *Metrics) WithTags(tags map[string]string) client.MetricsHandler {
	all := make(map[string]string, len(m.tags)+len(tags))
	for _, each := range []map[string]string{m.tags, tags} {
		for k, v := range each {
			all[k] = v
		}
	}
	return &Metrics{Registry: m.Registry, tags: all, shared: m.shared}
}

// Tell tells a number of this program itself, which now returns when somebody asks.
func (m *Metrics) Tell(name, help string, now func() int) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kerf_fleet_" + name, Help: help},
		func() float64 { return float64(now()) }))
}

// labels are the tags' names in order, and their values. The queue of one worker is not
// told: its name is random, and a series for each would never end.
func (m *Metrics) labels() (names, values []string) {
	for name := range m.tags {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v := m.tags[name]
		if strings.HasPrefix(v, "kerf-worker-") {
			v = "own"
		}
		values = append(values, v)
	}
	return names, values
}

// get returns the collector of a name and its labels, made once.
func (m *Metrics) get(name string, names []string, make func() prometheus.Collector) prometheus.Collector {
	key := name + "\x00" + strings.Join(names, "\x00")
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	c, ok := m.shared.made[key]
	if !ok {
		c = make()
		m.shared.made[key] = c
		// The same name with other labels cannot be told as well; it is counted for nobody.
		_ = m.Registry.Register(c)
	}
	return c
}

func clean(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ReplaceAll(name, "temporal_", "kerf_fleet_engine_"))
}

// Counter is [client.MetricsHandler].
func (m *Metrics) Counter(name string) client.MetricsCounter {
	names, values := m.labels()
	c := m.get(name, names, func() prometheus.Collector {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: clean(name) + "_total"}, names)
	}).(*prometheus.CounterVec).WithLabelValues(values...)
	return counter{c}
}

// Gauge is [client.MetricsHandler].
func (m *Metrics) Gauge(name string) client.MetricsGauge {
	names, values := m.labels()
	g := m.get(name, names, func() prometheus.Collector {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: clean(name)}, names)
	}).(*prometheus.GaugeVec).WithLabelValues(values...)
	return gauge{g}
}

// Timer is [client.MetricsHandler].
func (m *Metrics) Timer(name string) client.MetricsTimer {
	names, values := m.labels()
	h := m.get(name, names, func() prometheus.Collector {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: clean(name) + "_seconds",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, names)
	}).(*prometheus.HistogramVec).WithLabelValues(values...)
	return timer{h}
}

type counter struct{ c prometheus.Counter }

func (c counter) Inc(n int64) { c.c.Add(float64(max(n, 0))) }

type gauge struct{ g prometheus.Gauge }

func (g gauge) Update(v float64) { g.g.Set(v) }

type timer struct{ h prometheus.Observer }

func (t timer) Record(d time.Duration) { t.h.Observe(d.Seconds()) }
