// Package units cuts a plan into the units that a GitOps engine reconciles one by one,
// Flux's Kustomizations or Argo CD's Applications, so that the engine keeps the plan's
// gates: a unit is reconciled when the units it comes after are ready.
//
//	units, err := units.Units(plan)
//	units[2].Name  // "storage"
//	units[2].After // [1]: what it waits for
package units
