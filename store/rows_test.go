package store

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// A field that is added to a record and forgotten in the rows would be lost
// without a word.
func TestRowsCarryEveryField(t *testing.T) {
	s := newSample()
	var trial record.Trial
	fillAll(reflect.ValueOf(&trial).Elem(), new(int))
	trial.Version = record.Version
	s.plan[0], s.trials[0] = trial.Spec, &trial
	var instance record.Instance
	fillAll(reflect.ValueOf(&instance).Elem(), new(int))
	s.instances = append(s.instances, instance)
	var call record.Call
	fillAll(reflect.ValueOf(&call).Elem(), new(int))
	call.Trial = "aa"
	s.calls = []*record.Call{&call}
	s.check(t, open(t, s.written(t)))
	if n := reflect.TypeFor[record.Spec]().NumField(); n != len(specFields(new(record.Spec))) {
		t.Errorf("Spec has %d fields, the plan %d columns", n, len(specFields(new(record.Spec))))
	}
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

// Any trial comes back as it was: extreme numbers, any text.
func TestTrialsRoundTrip(t *testing.T) {
	trials := rapid.Make[record.Trial]()
	rapid.Check(t, func(t *rapid.T) {
		want := trials.Draw(t, "trial")
		want.Version = record.Version
		row, err := newResultRow(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := row.trial(want.Spec, newParser())
		if err != nil {
			t.Fatal(err)
		}
		if !record.Same(&want, got) {
			t.Fatalf("it came back otherwise (-want +got):\n%s", cmp.Diff(&want, got))
		}
	})
}

// A changed value changes the checksum of its row, and so does one that has
// moved to another column.
func TestChecksum(t *testing.T) {
	fill := func() (record.Spec, resultRow) {
		var spec record.Spec
		fillAll(reflect.ValueOf(&spec).Elem(), new(int))
		trial := *newSample().trials[1]
		row, err := newResultRow(&trial)
		if err != nil {
			t.Fatal(err)
		}
		return spec, *row
	}
	spec, row := fill()
	sums := map[int64]string{checksum(specFields(&spec)): "the plan's row", checksum(row.fields()): "the result's row"}
	for i := range specFields(&spec) {
		spec, _ := fill()
		another(specFields(&spec)[i])
		sum := checksum(specFields(&spec))
		if other, taken := sums[sum]; taken {
			t.Errorf("column %d of the plan altered: the sum of %s", i, other)
		}
		sums[sum] = fmt.Sprint("column ", i, " of the plan")
	}
	for i := range row.fields() {
		_, row := fill()
		another(row.fields()[i])
		sum := checksum(row.fields())
		if other, taken := sums[sum]; taken {
			t.Errorf("column %d of the results altered: the sum of %s", i, other)
		}
		sums[sum] = fmt.Sprint("column ", i, " of the results")
	}
	a := record.Spec{Regime: "L1L", Strategy: "2"}
	b := record.Spec{Regime: "L1", Strategy: "L2"}
	if checksum(specFields(&a)) == checksum(specFields(&b)) {
		t.Error("a letter that moves from one column to the next does not change the sum")
	}
}

// another changes a value to which a row points.
func another(field any) {
	switch v := field.(type) {
	case *int:
		*v++
	case *string:
		*v += "x"
	case **int:
		*v = new(77)
	case **string:
		*v = new("other")
	case *[]byte:
		*v = []byte("[]")
	}
}

// JSON that is compressed comes back; what would grow is kept as it is.
func TestPack(t *testing.T) {
	for _, text := range []string{"[]", "[" + strings.Repeat("[1,2,3],", 1000) + "1]"} {
		got, err := unpack(pack([]byte(text)))
		if err != nil || string(got) != text {
			t.Errorf("%.20q came back as %.20q, %v", text, got, err)
		}
	}
	if kept := pack([]byte("[]")); string(kept) != "[]" {
		t.Errorf("a short text is kept as %q", kept)
	}
	if kept := pack([]byte(strings.Repeat(" ", mostPacked+1))); bytes.HasPrefix(kept, zstdMagic) {
		t.Error("a text too long to be read back is compressed")
	}
}

// A few bytes of zstd may stand for gigabytes; they are refused before they take
// the memory.
func TestBomb(t *testing.T) {
	bomb := compressor.EncodeAll(make([]byte, 4*mostPacked), nil)
	if got, err := unpack(bomb); err == nil {
		t.Errorf("%d bytes were unpacked into %d", len(bomb), len(got))
	}
	old := compressor.EncodeAll(make([]byte, 4*v1MostPacked), nil)
	if got, err := v1Unpack(old, 1); err == nil {
		t.Errorf("%d bytes of an old run were unpacked into %d", len(old), len(got))
	}
}

func FuzzParseWindows(f *testing.F) {
	for _, t := range newSample().trials {
		row, err := newResultRow(t)
		if err != nil {
			f.Fatal(err)
		}
		if row.windows != nil {
			text, err := unpack(row.windows)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte(`[{"judgments":{"entries":{"memory_id":["a"],"pos":[[1,2]],"claim":["SAFE"]},"truth":[true],"verdict":["stale"],"score":[0.5,1]}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		windows, err := newParser().windows(text)
		if err != nil {
			return
		}
		row, err := newResultRow(&record.Trial{Windows: windows})
		if err != nil {
			t.Fatal(err)
		}
		again, err := row.trial(record.Spec{}, newParser())
		if err != nil || !record.Same(again.Windows, windows) {
			t.Errorf("%s came back as %+v, %v", text, again, err)
		}
	})
}

// What JSON has no word for must not lose a trial that was paid for: an infinite
// number is unknown, and bytes that are no UTF-8 are U+FFFD, as in an export.
func TestWhatJSONCannotSay(t *testing.T) {
	s := newSample()
	j := &s.trials[0].Windows[0].Judgments[0]
	j.StaleLogprob, j.Reason = new(math.Inf(-1)), "a\xffb"
	s.calls[0].Booleans = []record.Boolean{{At: 1, True: new(math.NaN()), False: new(-0.5)}}
	dir := s.written(t)
	j.StaleLogprob, j.Reason, s.calls[0].Booleans[0].True = nil, "a\ufffdb", nil
	s.check(t, open(t, dir))
}
