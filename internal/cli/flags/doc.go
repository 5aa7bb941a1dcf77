// Package flags has the flags of all commands: their help, and their values from the command line,
// the environment and the file of --config.
//
// It writes the help of commands: verbs by task, flags by topic, and rarely used flags by
// name only, with a command that explains them. kubectl's flags are apart, as in kubectl.
//
//	flags.InstallHelp(root, columns, flags.Task{Title: "Apply and delete:", Verbs: []string{"apply", "delete"}})
//
// It also sets the flags that the command line does not set, from the
// environment or the file of --config, and reports wrong flags, arguments and verbs.
//
//	err := flags.ApplyDefaults(cmd, c) // --crd-timeout from ORDAPPLY_CRD_TIMEOUT or "crd-timeout: 2m"
package flags
