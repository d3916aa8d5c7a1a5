package record

import "reflect"

// Same compares two records. A list that is empty and one that is not there are
// the same, as they are to every reader of records.
func Same[T any](a, b T) bool {
	return equal(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem())
}

func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}
