// Package watchglasstest starts a Kubernetes API of its own for a test, with the standard library only:
//
//	cluster := watchglasstest.Start(t, "--simulate", "all")
//	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
//	cluster.WithFault(t, "error,code=429,verb=list", func() { ... })
//
// The program is "watchglass" of PATH, or the words of WATCHGLASS_COMMAND, such as "node /path/to/watchglass". It ends with
// the test, and also when the test is killed: the pipe to its standard input is what keeps it.
//
// This starter is kept by hand: the tests of this repository do not run it, since they bring no Go.
package watchglasstest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Cluster is a cluster that serves until the test that started it is over.
type Cluster struct {
	// Kubeconfig is a file: the context watchglass may do everything, visitor nothing until a role says so.
	Kubeconfig string
	// Address is an https URL; CAFile and TokenFile are what a client needs without a kubeconfig.
	Address, CAFile, TokenFile string
	// Admin is the address of metrics and faults.
	Admin string
	// Env is for programs that are to find the cluster: NAME=VALUE.
	Env []string

	mutex  sync.Mutex
	input  io.Writer
	output *bufio.Reader
	rules  []*string
}

// Start starts a cluster with options of "watchglass run", and ends it with the test. A second test may have its own.
func Start(t testing.TB, options ...string) *Cluster {
	t.Helper()
	words := strings.Fields(os.Getenv("WATCHGLASS_COMMAND"))
	if len(words) == 0 {
		words = []string{"watchglass"}
	}
	command := exec.Command(words[0], append(append(words[1:], "run", "--stdio"), options...)...)
	var said bytes.Buffer
	command.Stderr = &said
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("watchglass does not start: %v", err)
	}
	t.Cleanup(func() {
		input.Close()
		if err := command.Wait(); err != nil && !t.Failed() {
			t.Errorf("watchglass: %v: %s", err, said.String())
		}
	})
	cluster := &Cluster{input: input, output: bufio.NewReader(output)}
	var found map[string]string
	if err := cluster.read(&found); err != nil {
		input.Close()
		command.Wait()
		t.Fatalf("watchglass has not started: %s", said.String())
	}
	for name, value := range found {
		cluster.Env = append(cluster.Env, name+"="+value)
	}
	account := found["WATCHGLASS_SERVICE_ACCOUNT"]
	cluster.Kubeconfig = found["KUBECONFIG"]
	cluster.Address = "https://" + found["KUBERNETES_SERVICE_HOST"] + ":" + found["KUBERNETES_SERVICE_PORT"]
	cluster.CAFile = filepath.Join(account, "ca.crt")
	cluster.TokenFile = filepath.Join(account, "token")
	cluster.Admin = found["WATCHGLASS_ADMIN"]
	for i, option := range options {
		rule, isOne := strings.CutPrefix(option, "--fault=")
		if option == "--fault" && i+1 < len(options) {
			rule, isOne = options[i+1], true
		}
		if isOne {
			cluster.rules = append(cluster.rules, &rule)
		}
	}
	return cluster
}

// Apply applies objects, which are anything that JSON can hold, and files and folders of YAML by their paths.
func (c *Cluster) Apply(t testing.TB, parts ...any) {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, part := range parts {
		if path, ok := part.(string); ok {
			absolute, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			parts[i] = absolute
		}
	}
	line, err := json.Marshal(map[string]any{"apply": parts})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Error string }
	if _, err = c.input.Write(append(line, '\n')); err == nil {
		err = c.read(&answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	if answer.Error != "" {
		t.Fatal(answer.Error)
	}
}

// WithFault runs a task while a rule is active beside those that are already. It ends with the task, however it ends.
func (c *Cluster) WithFault(t testing.TB, rule string, task func()) {
	t.Helper()
	added := &rule
	c.change(t, func() { c.rules = append(c.rules, added) })
	defer c.change(t, func() {
		for i, one := range c.rules {
			if one == added {
				c.rules = append(c.rules[:i], c.rules[i+1:]...)
				return
			}
		}
	})
	task()
}

func (c *Cluster) change(t testing.TB, change func()) {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change()
	var lines []string
	for _, one := range c.rules {
		lines = append(lines, *one)
	}
	if err := put(c.Admin+"/faults", strings.Join(lines, "\n")); err != nil {
		t.Error(err)
	}
}

func put(address, body string) error {
	request, err := http.NewRequest(http.MethodPut, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(answer.Body)
	return fmt.Errorf("%s", strings.TrimSpace(string(text)))
}

func (c *Cluster) read(into any) error {
	line, err := c.output.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}
