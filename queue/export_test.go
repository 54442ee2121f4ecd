package queue

import "time"

// Leads makes it a controller that has led for long enough to let a run enter at once.
func (a *Admission) Leads(now time.Time) { a.line.next = now }
