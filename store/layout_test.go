package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

var anyStoredCall = cmp.AllowUnexported(storedCall{})

// A field that is added to a record and forgotten in the layout would be lost
// without a word.
func TestLayoutsCarryEveryField(t *testing.T) {
	var trial record.Trial
	fillAll(reflect.ValueOf(&trial).Elem(), new(int))
	trial.Spec = record.Spec{} // stands in the plan
	var instance record.Instance
	fillAll(reflect.ValueOf(&instance).Elem(), new(int))
	checkLayout(t, &trial, (*coder).trial)
	checkLayout(t, &instance, (*coder).instance)
}

// The plan is stored in columns; the same must hold for it.
func TestPlanCarriesEveryField(t *testing.T) {
	var spec record.Spec
	fillAll(reflect.ValueOf(&spec).Elem(), new(int))
	w, err := Create(t.TempDir(), record.Manifest{}, slices.Values([]record.Spec{spec}), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := reflect.TypeFor[record.Spec]().NumField(); n != len(specFields(&spec)) {
		t.Errorf("Spec has %d fields, the plan %d columns", n, len(specFields(&spec)))
	}
}

// And for calls, whose other form is storedCall.
func TestCallsCarryEveryField(t *testing.T) {
	s := newSample()
	var call record.Call
	fillAll(reflect.ValueOf(&call).Elem(), new(int))
	call.Trial = "aa"
	s.calls = []*record.Call{&call}
	w, dir := s.create(t)
	s.write(t, w, 0, 1, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.check(t, open(t, dir))
}

// fillAll gives every field, list and pointer below v a value of its own.
func fillAll(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fillAll(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("no value for " + v.Type().String())
	}
}

func checkLayout[T any](t interface {
	Helper()
	Fatalf(string, ...any)
}, want *T, walk func(*coder, *T)) {
	t.Helper()
	body := encode(newEncoder(), want, walk)
	var got T
	if err := decode(body, &got, walk); err != nil {
		t.Fatalf("decoding: %v", err)
	}
	if d := cmp.Diff(*want, got, anyStoredCall, cmpopts.EquateNaNs()); d != "" {
		t.Fatalf("it came back otherwise (-want +got):\n%s", d)
	}
}

// Any record comes back as it was: extreme numbers, any bytes, nil and empty.
func TestLayoutsRoundTrip(t *testing.T) {
	trials := rapid.Make[record.Trial]()
	instances := rapid.Make[record.Instance]()
	rapid.Check(t, func(t *rapid.T) {
		trial := trials.Draw(t, "trial")
		trial.Spec = record.Spec{}
		instance := instances.Draw(t, "instance")
		checkLayout(t, &trial, (*coder).trial)
		checkLayout(t, &instance, (*coder).instance)
		calls := []storedCall{{
			slot: rapid.String().Draw(t, "slot"), model: string(rapid.SliceOf(rapid.Byte()).Draw(t, "model")),
			prompt: rapid.SliceOf(rapid.Uint64()).Draw(t, "prompt"), reply: rapid.Uint64().Draw(t, "reply"),
			input: rapid.Ptr(rapid.Int(), true).Draw(t, "input"), latency: rapid.Make[record.Call]().Draw(t, "call").Latency,
		}, {}}
		checkLayout(t, &calls, (*coder).calls)
	})
}

// The same coder writes record after record; nothing of one shows in the next.
func TestEncoderForgets(t *testing.T) {
	s := newSample()
	c := newEncoder()
	first := string(encode(c, s.trials[0], (*coder).trial))
	encode(c, s.trials[1], (*coder).trial)
	if again := string(encode(c, s.trials[0], (*coder).trial)); again != first {
		t.Error("a used encoder writes other bytes than a new one")
	}
}

func TestNewerLayout(t *testing.T) {
	var trial record.Trial
	if err := decode([]byte{layoutVersion + 1}, &trial, (*coder).trial); !errors.Is(err, ErrNewer) {
		t.Errorf("got %v, want ErrNewer", err)
	}
	if err := decode(nil, &trial, (*coder).trial); !errors.Is(err, errMalformed) {
		t.Errorf("nothing at all: %v, want errMalformed", err)
	}
}

// Damaged bytes give an error, never a panic, and what decodes can be written
// and read again.
func FuzzDecode(f *testing.F) {
	s := newSample()
	c := newEncoder()
	for _, trial := range s.trials {
		f.Add(append([]byte{0}, encode(c, trial, (*coder).trial)...))
	}
	f.Add(append([]byte{1}, encode(c, &s.instances[0], (*coder).instance)...))
	f.Add(append([]byte{2}, encode(c, &[]storedCall{{slot: "step1", prompt: []uint64{1, 300}, promptSum: new([32]byte)}}, (*coder).calls)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		switch kind, body := data[0]%3, data[1:]; kind {
		case 0:
			fuzzDecode(t, body, (*coder).trial)
		case 1:
			fuzzDecode(t, body, (*coder).instance)
		case 2:
			fuzzDecode(t, body, (*coder).calls)
		}
	})
}

func fuzzDecode[T any](t *testing.T, body []byte, walk func(*coder, *T)) {
	var v T
	if decode(body, &v, walk) == nil {
		checkLayout(t, &v, walk)
	}
}

func FuzzSplitRow(f *testing.F) {
	f.Add([]byte(record.PartText), make([]byte, 64), []byte("\x01a\x02bc"))
	f.Fuzz(func(t *testing.T, kind, sums, data []byte) {
		parts, err := splitRow(string(kind), sums, data)
		if err != nil {
			return
		}
		total := 0
		for _, p := range parts {
			total += len(p.Data) + 1
		}
		if len(parts)*32 != len(sums) || total > len(data) {
			t.Errorf("%d parts of %d bytes from %d sums and %d bytes", len(parts), total, len(sums), len(data))
		}
	})
}
