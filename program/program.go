package program

import (
	"context"
	"os"
	"os/exec"
)

type heldKey struct{}

// Hold is a context under which programs are executed that work under the lock
// on f. They get the open file, and with it the lock: should this process die,
// the lock is theirs until the last of them has ended.
func Hold(ctx context.Context, f *os.File) context.Context {
	held := Held(ctx)
	return context.WithValue(ctx, heldKey{}, append(held[:len(held):len(held)], f))
}

// Held are the files whose locks a program has to keep.
func Held(ctx context.Context) []*os.File {
	held, _ := ctx.Value(heldKey{}).([]*os.File)
	return held
}

// Command is exec.CommandContext with the files of Held as the first of
// ExtraFiles.
func Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.ExtraFiles = Held(ctx)
	return cmd
}
