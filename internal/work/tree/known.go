package tree

import (
	"hash/maphash"
	"sync"
	"time"

	"kerf/internal/text/delta"
)

// maxKnown bounds the files whose version is remembered; 10,000 cost about 1 MB.
const maxKnown = 10_000

// pathKey stands for a path. A seeded hash keeps an entry small, and nobody can choose
// paths that collide.
type pathKey uint64

func keyOf(seed maphash.Seed, path string) pathKey { return pathKey(maphash.String(seed, path)) }

// cache remembers versions by path and signature.
type cache struct {
	seed  maphash.Seed
	mu    sync.Mutex
	files map[pathKey]knownFile
}

type knownFile struct {
	sig  uint64 // hash of path and signature, with the same seed as the key
	size int64
	sum  delta.Sum
	mode uint32
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), files: make(map[pathKey]knownFile)}
}

func (c *cache) get(path string, sig Signature) (delta.Version, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.files[keyOf(c.seed, path)]
	if !ok || !sig.Mode.IsRegular() || k.sig != c.hash(path, sig) {
		return delta.Version{}, false
	}
	return delta.Version{Kind: delta.File, Mode: k.mode, Size: k.size, Sum: k.sum}, true
}

// put remembers v unless the file is so fresh that it could change once more with
// the same signature.
func (c *cache) put(path string, sig Signature, v delta.Version) {
	if v.Kind != delta.File || sig.Fresh(time.Now()) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.files) >= maxKnown {
		for k := range c.files { // any one; the map's order is random enough
			delete(c.files, k)
			break
		}
	}
	c.files[keyOf(c.seed, path)] = knownFile{c.hash(path, sig), v.Size, v.Sum, v.Mode}
}

func (c *cache) hash(path string, sig Signature) uint64 {
	return maphash.Comparable(c.seed, struct {
		path string
		sig  Signature
	}{path, sig})
}

// maxObserved bounds the paths that Versions numbers; beyond it the numbers of some
// paths start over, above any number given before.
const maxObserved = 20_000

// Versions numbers the versions of paths as they are seen. The zero value is ready;
// methods may be called concurrently.
type Versions struct {
	mu   sync.Mutex
	seed maphash.Seed
	seen map[pathKey]observed
	base int // where numbers of forgotten paths resume
}

type observed struct {
	sum [16]byte // the first half is plenty to tell two versions of one file apart
	n   int32
}

// Observe notes that path has version v and returns its number: 1 at the first
// sight, and one more whenever the content differs from what was last observed.
func (v *Versions) Observe(path string, now delta.Version) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen, v.seed = make(map[pathKey]observed), maphash.MakeSeed()
	}
	key := keyOf(v.seed, path)
	o, ok := v.seen[key]
	sum := [16]byte(now.Sum[:16])
	switch {
	case !ok:
		v.forgetOne()
		o = observed{sum, int32(v.base + 1)}
	case o.sum != sum:
		o = observed{sum, o.n + 1}
	}
	v.seen[key] = o
	return int(o.n)
}

func (v *Versions) forgetOne() {
	if len(v.seen) < maxObserved {
		return
	}
	for k, o := range v.seen {
		delete(v.seen, k)
		v.base = max(v.base, int(o.n))
		return
	}
}
