// Command modelserver serves a scenario as a model provider, for benchmarks and
// scripts.
//
//	modelserver [-addr 127.0.0.1:0] [-repeat] [-log FILE] SCENARIO
//
// It prints the base URL on standard output and serves until it is interrupted.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"

	"kerf/internal/model/script"
	"kerf/internal/testkit/modeltest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on")
	repeat := flag.Bool("repeat", false, "start over after the last round")
	log := flag.String("log", "", "append every request body to `file`, one JSON text a line")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *addr, *repeat, *log); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

func run(path, addr string, repeat bool, log string) error {
	scenario, err := load(path)
	if err != nil {
		return err
	}
	record, err := recorder(log)
	if err != nil {
		return err
	}
	server, err := modeltest.Serve(addr)
	if err != nil {
		return err
	}
	server.Repeat, server.OnRequest = repeat, record
	server.Add(modeltest.Scenario(scenario)...)
	fmt.Println(server.URL)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	<-interrupted
	server.Close()
	return nil
}

func load(path string) (*script.Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := script.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// recorder returns a function that appends requests to the file at path, or nil
// when path is empty.
func recorder(path string) (func(*modeltest.Request), error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	return func(r *modeltest.Request) {
		line := r.Body
		if !json.Valid(line) {
			line, _ = json.Marshal(string(line)) // a string always has an encoding
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(append(line, '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "modelserver:", err)
		}
	}, nil
}
