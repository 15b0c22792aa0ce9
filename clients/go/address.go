package assay

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// unixPathLimit is the length of a socket's path: sun_path has 108 bytes, one of them the end.
const unixPathLimit = 107

// address is where a server listens.
type address struct {
	text    string
	network string // tcp or unix
	target  string // HOST:PORT, PATH, or @NAME
	host    string
	tls     bool
}

// addressesOf parses addresses; without any, those of the environment.
func addressesOf(texts []string) ([]address, error) {
	if len(texts) == 0 {
		if value := os.Getenv("ASSAY_ADDRESS"); value != "" {
			texts = strings.Split(value, ",")
		} else {
			return nil, newError(ErrAddress,
				"no address: name one, or set the environment variable ASSAY_ADDRESS", nil)
		}
	}
	var addresses []address
	for _, text := range texts {
		parsed, problem := parseAddress(strings.TrimSpace(text))
		if problem != "" {
			return nil, newError(ErrAddress, fmt.Sprintf(
				"%q %s; write tcp://HOST:PORT, tls://HOST:PORT or unix:PATH", text, problem), nil)
		}
		addresses = append(addresses, parsed)
	}
	return addresses, nil
}

func parseAddress(text string) (address, string) {
	parsed := address{text: text, network: "tcp"}
	if path := strings.TrimPrefix(text, "unix:"); path != text {
		if path == "" || path == "@" || strings.Contains(path, "\x00") {
			return parsed, "has no path"
		}
		if len(path) > unixPathLimit {
			return parsed, fmt.Sprintf("has a path of more than %d bytes", unixPathLimit)
		}
		parsed.network, parsed.target = "unix", path
		return parsed, ""
	}
	rest := strings.TrimPrefix(text, "tcp://")
	if rest == text {
		if rest = strings.TrimPrefix(text, "tls://"); rest == text {
			return parsed, "has no known scheme"
		}
		parsed.tls = true
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		return parsed, "has no host and port"
	}
	if host == "" || strings.ContainsAny(host, "/ ") {
		return parsed, "has no host"
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return parsed, "has no port from 1 to 65535"
	}
	parsed.host, parsed.target = host, rest
	return parsed, ""
}
