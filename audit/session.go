package audit

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// DefaultCache is how many verdicts a session keeps.
const DefaultCache = 50_000

// A Session is one agent's memory over time. An entry is audited again only when
// its content, the observation or the auditor has changed, never because the
// memory was read again. It keeps verdicts and hashes, no texts but the reasons.
// It is safe for concurrent use.
type Session struct {
	mu      sync.Mutex
	auditor *Auditor
	cache   *cache
}

// NewSession returns a session that keeps so many verdicts, the latest used; 0
// is DefaultCache.
func NewSession(auditor *Auditor, keep int) *Session {
	if keep <= 0 {
		keep = DefaultCache
	}
	return &Session{auditor: auditor, cache: newCache(keep)}
}

// Use goes on with another auditor, to which no verdict of before counts.
func (s *Session) Use(auditor *Auditor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auditor, s.cache = auditor, newCache(s.cache.most)
}

// With returns a session of another auditor that has the same verdicts of before.
// It is for auditors of one model that differ in what becomes of stale entries:
// a verdict made under another context, prompt or parameters does not count.
func (s *Session) With(auditor *Auditor) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Session{auditor: auditor, cache: s.cache}
}

// Audit is Auditor.Audit, with the verdicts of before where nothing has changed
// (Verdict.Cached). What was unaudited is asked about again.
func (s *Session) Audit(ctx context.Context, memories []Memory, observation Observation) (*Result, error) {
	s.mu.Lock()
	a, c := s.auditor, s.cache
	s.mu.Unlock()
	return a.audit(ctx, memories, observation, c)
}

// An observationKey identifies an observation, an entryKey an entry held against
// one.
type (
	observationKey [sha256.Size]byte
	entryKey       [sha256.Size]byte
)

// observationSum hashes an observation; each field goes with its length, so
// that no two have the same bytes.
func observationSum(o *Observation) observationKey {
	var b []byte
	b = appendField(b, []byte(o.Text))
	for _, file := range o.Images {
		sum := sha256.Sum256(file)
		b = append(b, sum[:]...)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Facts)) {
		b = appendField(appendField(b, []byte(key)), []byte(o.Facts[key]))
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(o.Images))), uint64(len(o.Facts)))
	return sha256.Sum256(b)
}

// askedBy is the key of an observation as an auditor asks about it.
func (k observationKey) askedBy(a *Auditor) observationKey {
	b := appendField(k[:], []byte(a.prompt))
	return sha256.Sum256(appendField(appendField(b, []byte(a.options.Context)), a.params))
}

func (k observationKey) of(m *Memory) entryKey {
	b := appendField(k[:], []byte(m.Text))
	for _, file := range m.Images {
		sum := sha256.Sum256(file)
		b = append(b, sum[:]...)
	}
	return sha256.Sum256(b)
}

func appendField(b, field []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// A cache keeps the verdicts used last.
type cache struct {
	mu    sync.Mutex
	most  int
	order *list.List // of *cached, the latest used first
	at    map[entryKey]*list.Element
}

type cached struct {
	key     entryKey
	verdict Verdict
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), at: map[entryKey]*list.Element{}}
}

func (c *cache) get(key entryKey) (Verdict, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[key]
	if !ok {
		return Verdict{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).verdict, true
}

func (c *cache) put(key entryKey, v Verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[key]; ok {
		e.Value.(*cached).verdict = v
		c.order.MoveToFront(e)
		return
	}
	c.at[key] = c.order.PushFront(&cached{key, v})
	if c.order.Len() > c.most {
		last := c.order.Back()
		delete(c.at, c.order.Remove(last).(*cached).key)
	}
}
