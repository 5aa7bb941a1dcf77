// Package files has the outputs of a command: files, and streams that a slow reader does not block.
//
// It writes the files that flags name, such as --out FILE. A
// regular file is replaced atomically; a device, FIFO or descriptor is written
// to and keeps its type.
//
//	if err := files.CheckWritable(name); err != nil { … } // before the work
//	err := files.Write(ctx, name, 0o600, text)    // after it
//
// A Writer is asynchronous: writes never block, however slowly
// the output is read, and even if nothing reads it.
//
//	out := files.NewWriter(os.Stdout)
//	fmt.Fprintln(out, "never blocks")
//	err := out.Close(ctx) // waits while the reader makes progress
package files
