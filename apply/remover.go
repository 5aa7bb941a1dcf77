package apply

import "github.com/ordapply/ordapply/removal"

// Remover deletes live objects wave by wave.
type Remover = removal.Remover
