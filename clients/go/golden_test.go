package assay

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// golden calls check with each line of a file of golden frames.
func golden(t *testing.T, file string, check func(t *testing.T, line goldenLine)) {
	folder := os.Getenv("ASSAY_GOLDEN")
	if folder == "" {
		if folder = "../../conformance/golden"; !exists(folder) {
			t.Skip("the golden frames are missing")
		}
	}
	input, err := os.Open(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 64<<20)
	count := 0
	for lines.Scan() {
		var line goldenLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		t.Run(line.Name, func(t *testing.T) { check(t, line) })
		count++
	}
	if count < 20 {
		t.Errorf("%s has %d frames only", file, count)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

type goldenLine struct {
	Name, Frame, Body string
	Head              map[string]any
	Canonical         bool
}

func (l goldenLine) bytes(t *testing.T) []byte {
	data, err := hex.DecodeString(l.Frame)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGoldenRequests(t *testing.T) {
	golden(t, "requests.jsonl", func(t *testing.T, line goldenLine) {
		data := line.bytes(t)
		body, _ := hex.DecodeString(line.Body)
		var head RequestHead
		if err := head.unmarshal(new(decoder), data[8:len(data)-len(body)]); err != nil {
			t.Fatal(err)
		}
		same(t, jsonOf(reflect.ValueOf(head)), stripped(line.Head))
		if !line.Canonical {
			return
		}
		encoded, fits := appendFrame(nil, &head, body, largestFrame)
		if !fits || !bytes.Equal(encoded, data) {
			t.Errorf("encoded as %x, not %x", encoded, data)
		}
	})
}

func TestGoldenResponses(t *testing.T) {
	golden(t, "responses.jsonl", func(t *testing.T, line goldenLine) {
		reader := frameReader{from: bytes.NewReader(line.bytes(t))}
		head, body, err := reader.next()
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(body) != line.Body {
			t.Errorf("body %x", body)
		}
		same(t, jsonOf(reflect.ValueOf(*head)), stripped(line.Head))
		if _, _, err := reader.next(); err != io.EOF {
			t.Error("after the frame:", err)
		}
	})
}

func TestChangedFrames(t *testing.T) {
	golden(t, "responses.jsonl", func(t *testing.T, line goldenLine) {
		data := line.bytes(t)
		// Long frames have more of the same fields.
		for i := 4; i < len(data) && i < 400; i++ {
			for _, change := range []byte{0x01, 0x80, 0xff} {
				changed := append([]byte{}, data...)
				changed[i] ^= change
				reader := frameReader{from: bytes.NewReader(changed)}
				_, _, err := reader.next()
				_, isMalformed := err.(malformed)
				if err != nil && !isMalformed && err != io.ErrUnexpectedEOF && err != io.EOF {
					t.Fatalf("octet %d: %v", i, err)
				}
			}
		}
	})
}

func TestBrokenFrames(t *testing.T) {
	golden(t, "broken.jsonl", func(t *testing.T, line goldenLine) {
		reader := frameReader{from: bytes.NewReader(line.bytes(t))}
		head, _, err := reader.next()
		if _, isMalformed := err.(malformed); !isMalformed {
			t.Errorf("%v, %v", head, err)
		}
	})
}

// ---- The form of protobuf's JSON

// enumPrefixes are the contract's, which the names in this package lack.
var enumPrefixes = map[string]string{
	"Verdict": "VERDICT_", "Status": "STATUS_", "EvidenceKind": "EVIDENCE_KIND_",
	"ServingStatus": "SERVING_STATUS_", "InAppSelection": "IN_APP_SELECTION_",
	"StoreList": "STORE_LIST_",
}

// jsonOf returns a message as protobuf's JSON has it, decoded. What is false, an empty text or an
// enumeration's zero is left out: this package does not tell these from absent.
func jsonOf(value reflect.Value) any {
	switch value.Kind() {
	case reflect.Pointer:
		return jsonOf(value.Elem())
	case reflect.Struct:
		members := map[string]any{}
		for i := 0; i < value.NumField(); i++ {
			field := value.Field(i)
			if field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 &&
				field.Type() != reflect.TypeOf([]byte{}) {
				continue
			}
			if encoded := jsonOf(field); encoded != "" {
				members[jsonName(value.Type().Field(i).Name)] = encoded
			}
		}
		return members
	case reflect.Slice:
		if data, ok := value.Interface().([]byte); ok {
			return base64.StdEncoding.EncodeToString(data)
		}
		elements := []any{}
		for i := 0; i < value.Len(); i++ {
			elements = append(elements, jsonOf(value.Index(i)))
		}
		return elements
	case reflect.Int32:
		if prefix, ok := enumPrefixes[value.Type().Name()]; ok {
			name := fmt.Sprint(value.Interface())
			if strings.Contains(name, "(") {
				return float64(value.Int())
			}
			return prefix + name
		}
		return float64(value.Int())
	case reflect.Uint32:
		return float64(value.Uint())
	case reflect.Int64, reflect.Uint64:
		return fmt.Sprint(value.Interface())
	}
	return value.Interface()
}

// jsonName returns the name in JSON of a field in Go.
func jsonName(name string) string {
	for _, initialism := range []string{"UUID", "IDs", "SKUs", "ID", "JSON", "SKU", "SHA1"} {
		rest := initialism[:1] + strings.ToLower(initialism[1:])
		name = strings.ReplaceAll(name, initialism, rest)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

func stripped(value any) any {
	switch value := value.(type) {
	case map[string]any:
		members := map[string]any{}
		for name, member := range value {
			member = stripped(member)
			text, isText := member.(string)
			zero := isText && (text == "" || text == "STATUS_OK" ||
				strings.HasSuffix(text, "_UNSPECIFIED"))
			if zero || member == false && name != "willRenew" {
				continue
			}
			members[name] = member
		}
		return members
	case []any:
		elements := []any{}
		for _, element := range value {
			elements = append(elements, stripped(element))
		}
		return elements
	}
	return value
}

func same(t *testing.T, actual, expected any) {
	t.Helper()
	if !reflect.DeepEqual(actual, expected) {
		a, _ := json.MarshalIndent(actual, "", " ")
		b, _ := json.MarshalIndent(expected, "", " ")
		t.Errorf("decoded as %s\nnot %s", a, b)
	}
}
