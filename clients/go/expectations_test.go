package assay

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestExpectationsThatAreGivenAndEmpty gives each field of the messages an empty value, and a list an
// empty element. Nobody listens at the address.
func TestExpectationsThatAreGivenAndEmpty(t *testing.T) {
	client := newClient(t, Options{}, "unix:/nowhere")
	ctx := context.Background()
	ask := []func(*Expectations, *EntitlementPolicy) error{
		func(e *Expectations, _ *EntitlementPolicy) error {
			_, err := client.Verify(ctx, []byte("a"), VerifyCall{Expectations: e})
			return err
		},
		func(e *Expectations, p *EntitlementPolicy) error {
			_, err := client.Resolve(ctx, []Item{{}}, ResolveCall{Expectations: e, Policy: p})
			return err
		},
		func(_ *Expectations, p *EntitlementPolicy) error {
			_, err := client.Fetch(ctx, "1", FetchCall{Policy: p})
			return err
		},
		func(_ *Expectations, p *EntitlementPolicy) error {
			_, err := client.FetchByEvidence(ctx, []byte("a"), FetchCall{Policy: p})
			return err
		},
	}
	refuses := func(e *Expectations, p *EntitlementPolicy, name string, calls ...int) {
		t.Helper()
		text := name + " is empty: give a value, or leave it out to accept any"
		for _, i := range calls {
			err := ask[i](e, p)
			if !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), text) {
				t.Errorf("call %d: %v, not %q", i, err, text)
			}
		}
	}
	empty := map[reflect.Type][]any{
		reflect.TypeOf(Pointer("")):       {Pointer("")},
		reflect.TypeOf([]byte{}):          {[]byte{}},
		reflect.TypeOf([]string{}):        {[]string{}, []string{""}, []string{"gold", ""}},
		reflect.TypeOf([][]byte{}):        {[][]byte{}, [][]byte{nil}},
		reflect.TypeOf(Pointer(int64(0))): {}, // nil is absent, and 0 a value
	}
	kind := reflect.TypeOf(Expectations{})
	for i := 0; i < kind.NumField(); i++ {
		values, ok := empty[kind.Field(i).Type]
		if !ok {
			t.Errorf("no empty value of %v", kind.Field(i).Type)
		}
		for _, value := range values {
			expectations := new(Expectations)
			reflect.ValueOf(expectations).Elem().Field(i).Set(reflect.ValueOf(value))
			name := "Expectations." + kind.Field(i).Name
			if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.Len() > 0 {
				name += map[int]string{1: "[0]", 2: "[1]"}[list.Len()]
			}
			refuses(expectations, nil, name, 0, 1)
		}
	}
	policy := &EntitlementPolicy{ExpectedAppAccountToken: Pointer("")}
	refuses(nil, policy, "EntitlementPolicy.ExpectedAppAccountToken", 1, 2, 3)
	// What has a value, and what is absent, is sent.
	for _, e := range []*Expectations{nil, {}, {
		BundleID: Pointer("a"), Environments: []string{"Sandbox"}, DeviceIdentifier: []byte{0},
		AppAppleID: Pointer(int64(0)), OtherDeviceIdentifiers: [][]byte{{0}},
	}} {
		for i, call := range ask {
			if err := call(e, new(EntitlementPolicy)); !errors.Is(err, ErrConnect) {
				t.Errorf("call %d with %v: %v", i, e, err)
			}
		}
	}
}
