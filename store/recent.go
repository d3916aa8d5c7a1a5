package store

// A recent is a map that forgets: it holds two generations, and when the
// younger is full, the older is dropped. What is found in the older one moves
// to the younger, so what is in steady use stays.
type recent[K comparable, V any] struct {
	limit      int         // weight of one generation
	weigh      func(V) int // nil when every value weighs 1
	weight     int         // of the younger generation
	young, old map[K]V
	dropped    bool // something was forgotten
}

func newRecent[K comparable, V any](limit int, weigh func(V) int) *recent[K, V] {
	return &recent[K, V]{limit: limit, weigh: weigh, young: map[K]V{}}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		delete(r.old, k)
		r.put(k, v)
	}
	return v, ok
}

// put adds a value whose key is not held.
func (r *recent[K, V]) put(k K, v V) {
	weight := 1
	if r.weigh != nil {
		weight = r.weigh(v)
	}
	if r.weight+weight > r.limit && len(r.young) > 0 {
		r.dropped = r.dropped || len(r.old) > 0
		r.old, r.young, r.weight = r.young, map[K]V{}, 0
	}
	r.young[k] = v
	r.weight += weight
}
