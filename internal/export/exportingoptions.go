package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
)

// alwaysKept lists flags whose values a tree keeps even where they are defaults, so that
// another default changes no tree.
func alwaysKept() []string {
	return []string{"to", "name", "engine-namespace", "source", "source-ref", "path"}
}

// keptFor lists flags of one engine that are kept in the same way.
func keptFor(engine string) []string {
	if engine == toFlux {
		return []string{"source-kind", "source-insecure", "interval", "retry-interval", "timeout"}
	}
	return []string{"form", "project", "server"}
}

// keptIfGiven lists flags that shape the plan.
func keptIfGiven() []string {
	return []string{"lossy", "namespace", "frame", "hooks", "prerequisites", "prerequisite-kinds", "selector", "strict-readiness"}
}

// fileFlags lists flags that name files, whose places differ between machines: a tree
// keeps only that they were given.
func fileFlags() []string {
	return []string{"order", "chart", "health-rules", "argocd-cm", "argocd-health", "fleet"}
}

// options returns the flags that the tree keeps, and the names of its file flags.
func (f *exportFlags) options(flags *pflag.FlagSet) (kept map[string]any, files []string) {
	kept = map[string]any{}
	for _, name := range slices.Concat(alwaysKept(), keptFor(f.to)) {
		kept[name] = valueOf(flags.Lookup(name))
	}
	for _, name := range keptIfGiven() {
		if flag := flags.Lookup(name); flag.Changed {
			kept[name] = valueOf(flag)
		}
	}
	for _, name := range fileFlags() {
		if flags.Lookup(name).Changed {
			files = append(files, name)
		}
	}
	return kept, files
}

// valueOf returns the value of a flag for a file.
func valueOf(flag *pflag.Flag) any {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if flag.Value.Type() == "bool" {
		return flag.Value.String() == "true"
	}
	return flag.Value.String()
}

// useOptions sets the flags that were not given as in the folder's last export.
func (f *exportFlags) useOptions(ctx context.Context, flags *pflag.FlagSet) error {
	if f.output == "" {
		return usage.OneOf("to", f.to, toFlux, toArgoCD)
	}
	saved, err := units.ReadOptions(ctx, f.output)
	if errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("%s has no %s with the options of an earlier export: name the engine with --to", f.output, units.OptionsFile)
	}
	if err != nil {
		return err
	}
	var errs []error
	known := slices.Concat(alwaysKept(), keptFor(toFlux), keptFor(toArgoCD), keptIfGiven())
	for _, name := range slices.Sorted(maps.Keys(saved.Options)) {
		field := filepath.Join(f.output, units.OptionsFile) + ": " + plain.Field("options", name)
		flag := flags.Lookup(name)
		if flag == nil || !slices.Contains(known, name) {
			errs = append(errs, errors.New(plain.Sprintf("%s: unknown option%s", field, cmp.Or(nearest.DidYouMean(name, known), ": export with --to and all flags"))))
			continue
		}
		if flag.Changed {
			continue
		}
		if err := set(flags, flag, saved.Options[name]); err != nil {
			errs = append(errs, errors.New(plain.Sprintf("%s: %v", field, err)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, name := range saved.Files {
		if flag := flags.Lookup(name); flag != nil && !flag.Changed {
			return usage.Errorf("%s was exported with --%s: name the file again", f.output, name)
		}
	}
	return nil
}

// set sets a flag to a value from a file.
func set(flags *pflag.FlagSet, flag *pflag.Flag, value any) error {
	items, isList := value.([]any)
	list, takesList := flag.Value.(pflag.SliceValue)
	if !isList || !takesList {
		return flags.Set(flag.Name, fmt.Sprint(value))
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = fmt.Sprint(item)
	}
	flag.Changed = true
	return list.Replace(texts)
}
