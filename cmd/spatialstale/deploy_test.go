package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// The command line of the Kubernetes job is one of ours, for as many parts as it has
// pods, and nobody is root.
func TestKubernetes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Kind string
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					SecurityContext struct {
						RunAsNonRoot bool `yaml:"runAsNonRoot"`
					} `yaml:"securityContext"`
					Containers []struct{ Args []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	if job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" || !pod.SecurityContext.RunAsNonRoot || len(pod.Containers) != 1 {
		t.Fatalf("%+v", job)
	}
	c := newCLI()
	parser, err := kong.New(c, kong.Name("spatialstale"), kong.Vars{"version": "", "presets": ""}, kong.NamedMapper("run", kong.MapperFunc(runFolder)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(pod.Containers[0].Args); err != nil {
		t.Fatal(err)
	}
	if got := shardOfTask(c.Run.Shard, func(name string) string { return map[string]string{"JOB_COMPLETION_INDEX": "0"}[name] }); job.Spec.Completions != 8 || got != "1/8" || !c.Run.OrResume || !strings.Contains(c.Run.Out, "{shard}") {
		t.Errorf("the first of %d pods makes %s in %s", job.Spec.Completions, got, c.Run.Out)
	}
}
