package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestSEC_S1_SecretsStayOut plants 40 secrets, 30 in the environment and 10 that
// only look like some, has a command print all of them and the model repeat them, and
// looks for them in everything that was written and in what the model was told.
func TestSEC_S1_SecretsStayOut(t *testing.T) {
	var secrets, env []string
	for i, word := range []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE", "DSN",
		"API_KEY"} {
		for j, shape := range []string{"plain%02dvalue%dxyz", "with %02d blank \"%d\" quote", "slash/%02d+%d=&é"} {
			v := fmt.Sprintf(shape, i, j)
			secrets, env = append(secrets, v), append(env, fmt.Sprintf("MY_%s_%d=%s", word, j, v))
		}
	}
	shaped := []string{"sk-" + strings.Repeat("aB3d", 8), "ghp_" + strings.Repeat("aB3d", 9),
		"github_pat_" + strings.Repeat("aB3d", 8), "glpat-" + strings.Repeat("aB3d", 6),
		"AKIA" + strings.Repeat("ABCD", 4), "AIza" + strings.Repeat("aB3d", 9), "xoxb-" + strings.Repeat("1234", 6), "npm_" +
			strings.Repeat("aB3d", 9),
		"eyJ" + strings.Repeat("hbGc", 5) + "." + strings.Repeat("eyJz", 5) + "." + strings.Repeat("SflK", 8), "hf_" +
			strings.Repeat("aB3d", 9)}
	secrets = append(secrets, shaped...)
	if len(secrets) != 40 {
		t.Fatalf("%d secrets", len(secrets))
	}
	file := filepath.Join(t.TempDir(), "printed")
	if err := os.WriteFile(file, []byte(strings.Join(secrets, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := calling(run("cat "+file), run("env; cat "+file+" >&2; exit 3"))
	h := scripted(t, c)
	h.Env = append(h.Env, env...)
	l := open(t, h, protocol.OpenOptions{})
	l.submit(protocol.UserInput{Items: []protocol.Input{{Text: "my key is " + secrets[0] + " and " + shaped[0]}}})
	events := fmt.Sprintf("%+v", l.until(is[protocol.TurnCompleted]))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	told := c.last()
	if !strings.Contains(told, "[redacted]") {
		t.Errorf("the command printed nothing that was redacted: %s", told)
	}
	_ = events
	commands := 0
	for _, r := range c.requests {
		for _, it := range r.Items {
			if !strings.Contains(it.Text(), "exit code") {
				continue
			}
			commands++
			for _, s := range secrets {
				if strings.Contains(it.Text(), s) {
					t.Errorf("the model was shown %q", s)
				}
			}
		}
	}
	if commands < 2 {
		t.Errorf("only %d outputs were told", commands)
	}
	files := 0
	err := filepath.WalkDir(h.Config.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds %q", path, s)
			}
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}
