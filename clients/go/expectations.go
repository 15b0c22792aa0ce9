package assay

import "fmt"

// A user without an account token, or a list of which nothing is left, would accept the purchases of
// all others. So an expectation that is given and empty is an error, and only nil is none.

// refuseEmpty returns the error of the first expectation with a name.
func refuseEmpty(names ...string) error {
	for _, name := range names {
		if name != "" {
			return newError(ErrArgument, name+
				" is empty: give a value, or leave it out to accept any", nil)
		}
	}
	return nil
}

// emptyText returns the name of a text that is given and empty.
func emptyText(name string, value *string) string {
	if value != nil && *value == "" {
		return name
	}
	return ""
}

// emptyBytes returns the name of bytes that are given and empty.
func emptyBytes(name string, value []byte) string {
	if value != nil && len(value) == 0 {
		return name
	}
	return ""
}

// emptyList returns the name of a list, or of its element, that is given and empty.
func emptyList[T string | []byte](name string, values []T) string {
	if values != nil && len(values) == 0 {
		return name
	}
	for i, value := range values {
		if len(value) == 0 {
			return fmt.Sprintf("%s[%d]", name, i)
		}
	}
	return ""
}

// validate refuses what a request must not have.
func (head *RequestHead) validate() error {
	switch {
	case head.Verify != nil:
		return head.Verify.Expectations.Validate()
	case head.Resolve != nil:
		if err := head.Resolve.Expectations.Validate(); err != nil {
			return err
		}
		return head.Resolve.Policy.Validate()
	case head.Fetch != nil:
		return head.Fetch.Policy.Validate()
	}
	return nil
}
