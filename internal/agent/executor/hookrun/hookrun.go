// Package hookrun carries out the hooks that are no programs: it sends an event to an
// address, or asks a model about it.
package hookrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"kerf/internal/agent/hooks"
)

// Options say with what.
type Options struct {
	// Command runs a handler that is a program.
	Command hooks.Runner
	// Getenv reads the variables that headers name.
	Getenv func(string) string
	// Ask asks a model one question; an empty model is the session's.
	Ask func(ctx context.Context, model, question string) (string, error)
}

// maxAnswer bounds what an address answers, in bytes.
const maxAnswer = 1 << 20

// Runner runs all kinds of handlers.
func Runner(o Options) hooks.Runner {
	// A hook is sent to the address that the user wrote down, and to no other one.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, h hooks.Handler, stdin []byte) (hooks.Output, error) {
		if h.URL == "" && h.Prompt == "" {
			return o.Command(ctx, h, stdin)
		}
		ctx, cancel := context.WithTimeout(ctx, h.Timeout)
		defer cancel()
		var out hooks.Output
		var err error
		if h.URL != "" {
			out, err = post(ctx, client, h, o.Getenv, stdin)
		} else {
			out, err = ask(ctx, h, o.Ask, stdin)
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return hooks.Output{TimedOut: true}, nil
		}
		return out, err
	}
}

// post sends the event. Any answer but one of success is a failure.
func post(ctx context.Context, client *http.Client, h hooks.Handler, getenv func(string) string,
	stdin []byte) (hooks.Output, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(stdin))
	if err != nil {
		return hooks.Output{}, errors.New("its address is none")
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		r.Header.Set(name, os.Expand(value, func(variable string) string {
			if slices.Contains(h.Env, variable) {
				return getenv(variable)
			}
			return ""
		}))
	}
	answer, err := client.Do(r)
	if err != nil {
		return hooks.Output{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return hooks.Output{}, err
	}
	if answer.StatusCode/100 != 2 {
		return hooks.Output{Code: 1, Stderr: []byte("it answered with status " + answer.Status)}, nil
	}
	return hooks.Output{Stdout: body}, nil
}

// verdict is what a model answers.
type verdict struct {
	OK     *bool  `json:"ok"`
	Reason string `json:"reason"`
}

// ask has a model judge the event. It objects as a program does that ends with code 2.
func ask(ctx context.Context, h hooks.Handler, ask func(context.Context, string, string) (string, error),
	stdin []byte) (hooks.Output, error) {
	question := strings.ReplaceAll(h.Prompt, "$ARGUMENTS", string(stdin))
	if question == h.Prompt {
		question += "\n\n" + string(stdin)
	}
	answer, err := ask(ctx, h.Model, question+
		"\n\nAnswer with one JSON object and nothing else: {\"ok\": true}, or {\"ok\": false, \"reason\": \"why\"}.")
	if err != nil {
		return hooks.Output{}, err
	}
	var v verdict
	from, to := strings.Index(answer, "{"), strings.LastIndex(answer, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(answer[from:to+1]), &v) != nil || v.OK == nil {
		return hooks.Output{}, errors.New("the model did not answer with the JSON that was asked for")
	}
	if *v.OK {
		return hooks.Output{}, nil
	}
	return hooks.Output{Code: 2, Stderr: fmt.Append(nil, v.Reason)}, nil
}
