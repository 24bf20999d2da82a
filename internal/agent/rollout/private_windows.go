package rollout

import (
	"fmt"
	"os"
)

// noFollow has no meaning here; making links takes a privilege on Windows.
const noFollow = 0

// checkDir refuses what is not a directory; links are not. Access is a matter
// of the lists that a directory inherits from the user's home.
func checkDir(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}
