// Package planprint prints a plan for programs, as JSON, and what it knows about one
// resource for people.
//
//	err := planprint.JSON(os.Stdout, plan)
//	known, err := planprint.Explain(os.Stdout, plan, id)
package drawing
