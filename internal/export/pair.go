package export

// pair compares each document of the order with the one that the tree has for it, or
// reports that it is missing and why that matters. It returns the identities of all.
func (f *finder) pair(want []document, found map[string]document, why func(document) string, compare func(want, have document)) map[string]bool {
	wanted := map[string]bool{}
	for _, d := range want {
		wanted[d.id()] = true
		switch got, there := found[d.id()]; {
		case there:
			compare(d, got)
		case !f.illegible[d.path]:
			f.add(Finding{d.path, d.name() + " is missing", why(d), again})
		}
	}
	return wanted
}
