// Package lines is how these programs talk to the tests: commands in lines, answers in JSON objects, one a line.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Tell writes one answer.
func Tell(event string, keys map[string]any) {
	answer := map[string]any{"event": event}
	maps.Copy(answer, keys)
	written, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(written))
}

// Obey lets obey do what each line of standard input says, until the one that is called close, or the end.
func Obey(obey func(command []string) (string, map[string]any, error)) {
	commands := bufio.NewScanner(os.Stdin)
	commands.Buffer(nil, 16<<20)
	for commands.Scan() {
		command := strings.Fields(commands.Text())
		event, keys, err := obey(command)
		if err != nil {
			Tell("error", map[string]any{"error": ErrorName(err), "message": err.Error()})
		} else {
			Tell(event, keys)
		}
		if command[0] == "close" {
			return
		}
	}
}

// ErrorName is the protocol's name of an error where it has one, else what Go says.
func ErrorName(err error) string {
	if known, is := errors.AsType[*kerr.Error](err); is {
		return known.Message
	}
	return err.Error()
}

// Milliseconds reads a duration.
func Milliseconds(written string) time.Duration {
	count, err := strconv.Atoi(written)
	if err != nil {
		panic(err)
	}
	return time.Duration(count) * time.Millisecond
}
