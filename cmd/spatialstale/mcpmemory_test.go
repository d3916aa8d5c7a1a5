package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spatialstale/spatialstale/audit/audittest"
)

// TestMCPMemoryServer audits the memory of the real MCP memory server: its graph
// is read by its own tool, audited, and the calls that the plan says are made.
// Would fail if the graph were not understood or the calls were not the server's.
func TestMCPMemoryServer(t *testing.T) {
	script := os.Getenv("SPATIALSTALE_TEST_MCP_MEMORY")
	if script == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("SPATIALSTALE_TEST_MCP_MEMORY is not set")
		}
		t.Skip("set SPATIALSTALE_TEST_MCP_MEMORY to dist/index.js of the npm package @modelcontextprotocol/server-memory")
	}
	kept := filepath.Join(t.TempDir(), "memory.jsonl")
	server := exec.Command("node", script)
	server.Env = append(os.Environ(), "MEMORY_FILE_PATH="+kept)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := func(tool string, arguments any) string {
		t.Helper()
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || r.IsError {
			t.Fatalf("%s: %v %+v", tool, err, r)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	call("create_entities", json.RawMessage(`{"entities": [
		{"name": "staging", "entityType": "server", "observations": ["port 8080", "runs Debian"]},
		{"name": "Makefile", "entityType": "file", "observations": []}]}`))
	call("create_relations", json.RawMessage(`{"relations": [{"from": "Makefile", "to": "staging", "relationType": "deploys"}]}`))

	gone := map[string]string{"staging: port 8080": "stale", "Makefile deploys staging": "stale"}
	m := &audittest.Model{Rule: func(entry, _ string) string {
		if v := gone[entry]; v != "" {
			return v
		}
		return "not_covered"
	}}
	for _, memory := range []string{write(t, "graph.json", call("read_graph", json.RawMessage(`{}`))), kept} { // the tool's answer, and the server's file
		code, plan, stderr := audited(t, m, "--memories", memory, "--observe", "echo staging listens at port 9090, and there is no Makefile", "--plan")
		if code != exitStale || strings.Count(plan, "\n") != 2 {
			t.Fatalf("exit %d: %s\n%s", code, plan, stderr)
		}
		if memory != kept {
			continue
		}
		for line := range strings.Lines(plan) {
			tool, arguments, _ := strings.Cut(line, " ")
			call(tool, json.RawMessage(arguments))
		}
	}
	var graph struct {
		Entities []struct {
			Name         string
			Observations []string
		}
		Relations []any
	}
	if err := json.NewDecoder(bytes.NewBufferString(call("read_graph", json.RawMessage(`{}`)))).Decode(&graph); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"runs Debian"}, graph.Entities[0].Observations); diff != "" || len(graph.Entities) != 2 || len(graph.Relations) != 0 {
		t.Errorf("%s%+v", diff, graph)
	}
}
