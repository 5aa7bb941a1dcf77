package flags

import (
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// Task is a group of verbs.
type Task struct {
	Title string
	Verbs []string
}

// InstallHelp gives a tree of commands this help, and the command options. Texts are
// wrapped at a number of columns, or not at all if it is 0. Verbs that no task names stand
// under the last one.
func InstallHelp(root *cobra.Command, columns func() int, tasks ...Task) {
	root.AddCommand(newOptions(columns))
	for _, task := range tasks {
		root.AddGroup(&cobra.Group{ID: task.Title, Title: task.Title})
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = taskOf(tasks, cmd.Name())
	}
	last := tasks[len(tasks)-1].Title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageOf(cmd, columns()))
		return err
	})
}

func taskOf(tasks []Task, verb string) string {
	for _, task := range tasks {
		if slices.Contains(task.Verbs, verb) {
			return task.Title
		}
	}
	return tasks[len(tasks)-1].Title
}
